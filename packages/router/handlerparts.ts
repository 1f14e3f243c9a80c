/** What the handling of requests is made of. @module */
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
import type { Refusal } from "./refusal.ts";
import type { Room } from "./room.ts";
import type { TerminalPage } from "./terminal/terminalpage.ts";

export interface HandlerParts {
  routing: RouteOptions;
  /** Tells whether there is such a Sandbox for anybody to reach. */
  exists(target: Target): boolean;
  gate: Gate;
  browser: BrowserOptions;
  /** Addresses and cookies in answers are those of the client's path. */
  rewrites: boolean;
  /** Names of this machine beside localhost. */
  allowedHosts: readonly string[];
  /** Undefined: there is none. */
  dashboard: Dashboard | undefined;
  /** Undefined: sandboxes have the whole path. */
  terminalPage: TerminalPage | undefined;
  limits: Limits | undefined;
  recheck: Recheck;
  protoOf: ProtoOf;
  /** For requests that are under way, and connections of other protocols. */
  room: Room;
  reach: Reach;
  /** Longest wait for a sandbox that wakes up, in milliseconds. */
  holdMs: number;
  settings: ProxySettings;
  observer: Observer;
  log: Log;
  /** Requests without a trace context get one. */
  traces: boolean;
  /** Undefined: no spans. */
  tracer: Tracer | undefined;
}

/** Source of the text: Agent Sandbox API, section 7.2. */
export const INTERNAL: Refusal = { status: 500, detail: "An internal error occurred in the proxy." };
