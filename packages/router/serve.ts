/** Brings an admitted request to its sandbox, as soon as that can be reached. @module */
import { errorFields } from "../process/log.ts";
import type { Passed } from "./admit.ts";
import { type HandlerParts, INTERNAL } from "./handlerparts.ts";
import type { RequestRecord } from "./observe/observer.ts";
import { sendRefusal } from "./proxy/answer.ts";
import type { Exchange } from "./proxy/exchange.ts";
import { forward } from "./proxy/forward.ts";
import { forwardGrpc } from "./proxy/forwardgrpc.ts";
import { grpcFormOf } from "./proxy/grpcform.ts";
import { forwardUpgrade, type UpgradeExchange } from "./proxy/upgrade.ts";
import type { Refusal } from "./refusal.ts";
import { waitFor, waitForRaw } from "./wake/waitingrequest.ts";

/** Serves it; every outcome ends in an answer or in the end of the connection. */
export function serve(
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
    // Its client may have been refused meanwhile.
    if (!held || response.writableEnded) return;
    observer.held(record, held.ms);
    go(held.place, ["Server-Timing", held.timing]);
  }).catch((error) => {
    log("error", "Cannot wait for a sandbox", errorFields(error));
    go(INTERNAL, []);
  });
}

/** Does so with a request for another protocol. */
export function serveUpgrade(
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
