/** Forwards an admitted request as soon as its sandbox can be reached. @module */
import { errorFields } from "../process/log.ts";
import type { Passed } from "./admit.ts";
import type { HandlerParts } from "./handlerparts.ts";
import type { RequestRecord } from "./observe/observer.ts";
import { sendRefusal } from "./proxy/answer.ts";
import type { Exchange } from "./proxy/exchange.ts";
import { forward } from "./proxy/forward.ts";
import { forwardGrpc } from "./proxy/forwardgrpc.ts";
import { grpcFormOf } from "./proxy/grpcform.ts";
import { forwardUpgrade, type UpgradeExchange } from "./proxy/upgrade.ts";
import { INTERNAL, type Refusal } from "./refusal.ts";
import { waitFor, waitForRaw } from "./wake/waitingrequest.ts";

/** Forwards a request to its sandbox. In every case the client gets an answer, or the connection is closed. */
export function dispatch(
  { reach, settings, observer, log }: HandlerParts,
  record: RequestRecord,
  passed: Passed,
  incoming: Pick<Exchange, "request" | "response" | "expectsContinue">,
): void {
  const { request, response } = incoming;
  const go = (place: string | Refusal, extra: string[]) => {
    if (typeof place !== "string") return sendRefusal(request, response, place);
    const form = grpcFormOf(request);
    const exchange = { ...incoming, ...passed, extra };
    if (form) forwardGrpc(exchange, form, place, settings);
    else forward(exchange, place, settings);
  };
  const place = reach.now(passed.target);
  if (place !== undefined) return go(place, []);
  waitFor(reach, passed.target, request, response).then((held) => {
    // The request may have been refused while it waited, because its token has expired.
    if (!held || response.writableEnded) return;
    observer.held(record, held.ms);
    go(held.place, ["Server-Timing", held.timing]);
  }).catch((error) => {
    log("error", "Cannot wait for a sandbox", errorFields(error));
    go(INTERNAL, []);
  });
}

/** Forwards a request to switch protocols, such as to WebSocket. */
export function dispatchUpgrade(
  { reach, settings, observer, log }: HandlerParts,
  record: RequestRecord,
  exchange: UpgradeExchange,
  refuse: (refusal: Refusal) => void,
): void {
  const go = (place: string | Refusal) => {
    if (typeof place !== "string") return refuse(place);
    forwardUpgrade(exchange, place, settings);
  };
  const place = reach.now(exchange.target);
  if (place !== undefined) return go(place);
  waitForRaw(reach, exchange.target, exchange.socket).then((held) => {
    if (!held) return;
    observer.held(record, held.ms);
    go(held.place);
  }).catch((error) => {
    log("error", "Cannot wait for a sandbox", errorFields(error));
    refuse(INTERNAL);
  });
}
