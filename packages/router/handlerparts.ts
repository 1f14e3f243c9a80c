/** The parts that the router needs to handle a request. @module */
import type { Tracer } from "@opentelemetry/api";
import type { Log } from "../process/log.ts";
import type { BrowserOptions } from "./access/credentials.ts";
import type { ProtoOf } from "./access/clientaddress.ts";
import type { Gate } from "./access/gate.ts";
import type { Limits } from "./access/limits.ts";
import type { Recheck } from "./access/recheck.ts";
import type { Dashboard } from "./dashboard/dashboard.ts";
import type { RouteOptions, Target } from "./destination.ts";
import type { Observer } from "./observe/observer.ts";
import type { ProxySettings } from "./proxy/settings.ts";
import type { Reach } from "./reach.ts";
import type { Room } from "./room.ts";
import type { TerminalPage } from "./terminal/terminalpage.ts";

export interface HandlerParts {
  routing: RouteOptions;
  /** True if the Sandbox exists and is not an unclaimed member of a pool. */
  exists(target: Target): boolean;
  gate: Gate;
  browser: BrowserOptions;
  /** True: with path routing, the router rewrites addresses and cookies in answers so that they stay below the path. */
  pathRoutingRewriteResponses: boolean;
  /** Further host names of this machine that requests without a token may use; localhost is always allowed. */
  allowedHosts: readonly string[];
  /** Undefined: the router serves no dashboard. */
  dashboard: Dashboard | undefined;
  /** Undefined: the router serves no terminal page, and its path belongs to the sandbox. */
  terminalPage: TerminalPage | undefined;
  limits: Limits | undefined;
  recheck: Recheck;
  protoOf: ProtoOf;
  /** Limits how many requests and connections of other protocols are open at a time. */
  room: Room;
  reach: Reach;
  settings: ProxySettings;
  observer: Observer;
  log: Log;
  /** True: the router adds a trace context to a request that has none. */
  traceContext: boolean;
  /** Undefined: the router records no spans. */
  tracer: Tracer | undefined;
}
