/** Decides which sandbox a request is for and whether its client may reach it. @module */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isRebound, reboundMessage } from "../process/hosts.ts";
import { errorFields } from "../process/log.ts";
import { type Admission, allowAllGate, chooseTarget, type ChosenTarget } from "./access/gate.ts";
import { decideCrossOrigin, originForSandbox } from "./access/crossorigin.ts";
import { hostOf, type Route, routeOf, type Target } from "./destination.ts";
import { e2bRequestOf } from "./e2b/request.ts";
import type { HandlerParts } from "./handle.ts";
import { takeSlots } from "./limits.ts";
import { type RequestRecord, traceOf } from "./observe/observer.ts";
import type { Exchange } from "./proxy/exchange.ts";
import { isGone } from "./proxy/versions.ts";
import { INTERNAL, isRefusal, type Refusal } from "./refusal.ts";

/** What the router needs to forward an admitted request. */
export type AdmittedRequest =
  & Pick<
    Exchange,
    "target" | "address" | "path" | "proto" | "withheld" | "added" | "rules" | "locate" | "mayNotListenYet"
  >
  & {
    /** Checks again whether the client may still connect; undefined: every client may. */
    check: (() => object | Promise<object>) | undefined;
    /** When the token expires, in seconds since the epoch; undefined: not known. */
    expires: number | undefined;
    /** Headers for the client, in addition to the sandbox's: names and values in turn. */
    addedToResponse: string[];
    /**
     * Calls `listener` when the sandbox ends, until the returned function is called. Undefined: the stream ends when its
     * connection to the sandbox does.
     */
    onEnded: ((listener: () => void) => () => void) | undefined;
  };

/** Decides whether to admit a request. Calls `then` with the result, unless the client has disconnected before. */
export function admit(
  parts: HandlerParts,
  record: RequestRecord,
  client: ServerResponse | Socket,
  then: (passed: AdmittedRequest | Refusal, pass?: Admission) => void,
): void {
  const { routing, gate, exists, e2b, clientLimits, namespaceLimit, runtimeCredentials, observer, log } = parts;
  const { request, address } = record;
  const named = e2b.isServed() ? e2bRequestOf(request, e2b.domain) : undefined;
  const asked = named ?? routeOf(request, routing);
  if (isRefusal(asked)) return then(asked);
  const choose = () => named ? e2b.decide(named, request) : chosenOf(parts, asked as Route, request, address);
  const decided = ({ route, decision }: ChosenTarget) => {
    const isKnown = exists(route.target);
    if (gate !== allowAllGate) observer.decided(isKnown ? route.target.namespace : "", decision);
    if (isRefusal(decision)) return then(decision);
    const takers = [
      () => clientLimits?.(decision.client, performance.now()),
      () => namespaceLimit(route.target.namespace),
    ];
    const crossOrigin = decision.isAnonymous
      ? decideCrossOrigin(request, route.target, parts.browser, routing)
      : undefined;
    const refusal = rebindingRefusal(parts, request, route, decision) ??
      (crossOrigin === "no wake" ? undefined : crossOrigin) ?? takeSlots(client, takers);
    if (refusal) return then(refusal);
    const target: Target = {
      ...route.target,
      ...(crossOrigin === "no wake" ? { wakes: false } : {}),
      ...(decision.uid === undefined ? {} : { uid: decision.uid }),
      ...(runtimeCredentials.isFor(route.target, decision.path) ? { isDelivery: true } : {}),
    };
    observer.passed(record, route.target, decision.client, isKnown);
    const origin = isSocket(client)
      ? originForSandbox(request, route, parts.browser, gate === allowAllGate)
      : undefined;
    // Uses the route without the UID added above: the gate for scoped tokens refuses requests that name a UID.
    const again = named ? async () => (await choose()).decision : () => gate(request, route, address);
    const check = gate === allowAllGate && !named ? undefined : again;
    const added = origin ? [...decision.added, ...origin] : decision.added;
    const onEnded = named && ((listener: () => void) => e2b.onEnded(target, listener));
    const passed = admittedRequest(parts, record, { ...route, target }, { ...decision, added });
    then({ ...passed, check, onEnded }, decision);
  };
  const chosen = choose();
  if (!(chosen instanceof Promise)) return decided(chosen);
  const isOver = () => isSocket(client) ? client.destroyed : isGone(client);
  chosen.then((found) => isOver() || decided(found)).catch(
    (error) => {
      log("error", "Cannot handle a request", errorFields(error));
      if (!isOver()) then(INTERNAL);
    },
  );
}

/** Decides about a request that names its sandbox in one of the router's own ways. */
function chosenOf(
  { gate, exists }: HandlerParts,
  route: Route,
  request: RequestRecord["request"],
  address: string,
): ChosenTarget | Promise<ChosenTarget> {
  if (route.candidates) return chooseTarget(route, exists, gate, request, address);
  const decision = gate(request, route, address);
  return decision instanceof Promise ? decision.then((decided) => ({ route, decision: decided })) : { route, decision };
}

/** Refuses a request without a token if its host is not a name of this machine: protects against DNS rebinding. */
function rebindingRefusal(
  { allowedHosts }: HandlerParts,
  request: RequestRecord["request"],
  route: Route,
  { isAnonymous }: Admission,
): Refusal | undefined {
  const asked = { host: hostOf(request), localAddress: request.socket.localAddress };
  const isKept = isAnonymous && route.via !== "host" && isRebound(asked, allowedHosts);
  return isKept ? { status: 403, detail: reboundMessage(asked) } : undefined;
}

function isSocket(client: ServerResponse | Socket): client is Socket {
  return "remoteAddress" in client;
}

function admittedRequest(
  { locator, traceContext, tracer, browser, pathRoutingRewriteResponses, protoOf }: HandlerParts,
  record: RequestRecord,
  { target, base, via }: Route,
  { path, withheld, added, addedToResponse = [], mayEmbed, expires }: Admission,
): Omit<AdmittedRequest, "check" | "onEnded"> {
  const { request } = record;
  const trace = traceContext ? traceOf(request, target, tracer) : undefined;
  record.traceId = trace?.id ?? "";
  record.span = trace?.span;
  const more = [...added, ...trace?.added ?? []];
  if (base !== "") more.push("X-Forwarded-Prefix", base);
  return {
    target,
    address: record.address,
    path,
    proto: protoOf(request),
    withheld: trace?.withheld.length ? new Set([...withheld, ...trace.withheld]) : withheld,
    added: more,
    addedToResponse,
    expires,
    rules: {
      via,
      base,
      path,
      port: target.port,
      clientHost: hostOf(request),
      cookieName: browser.authzCookieName,
      rewrites: pathRoutingRewriteResponses || via !== "path",
      resourcePolicy: mayEmbed ? "cross-origin" : "same-origin",
    },
    mayNotListenYet: () => locator.mayNotListenYet(target, record.startedAt),
    locate: async (signal) => locator.now(target) ?? (await locator.hold(target, signal)).address,
  };
}
