/** Limits how long, and how often, a sandbox can delay the head of its answer. @module */
import type { ClientRequest } from "node:http";
import process from "node:process";
import { CHATTER, SILENCE } from "./failure.ts";

/** Most informational answers (1xx) before the final one. */
const MOST_INFORMATIONAL = 16;

/**
 * Ends a request after `responseHeaderTimeout` milliseconds of silence, if the answer does not begin within that time
 * after the request's end, or after too many informational answers.
 */
export function awaitHead(outgoing: ClientRequest, responseHeaderTimeout: number): void {
  let isAnswered = false;
  let timer: NodeJS.Timeout | undefined;
  let informational = 0;
  const stop = () => {
    isAnswered = true;
    clearTimeout(timer);
  };
  const late = () => outgoing.destroy(SILENCE);
  outgoing.once("timeout", late);
  // Any data ends the silence: a part of a head, or 1xx answers without end. So this timer runs in addition.
  outgoing.once("finish", () => {
    if (!isAnswered && responseHeaderTimeout > 0) timer = setTimeout(late, responseHeaderTimeout);
  });
  const giveUp = () => isAnswered || outgoing.destroy(CHATTER);
  outgoing.on("information", () => {
    // Not before the rest is parsed: if a protocol switch follows, node:http has no listener for the error yet.
    if (++informational === MOST_INFORMATIONAL + 1) process.nextTick(giveUp);
  });
  outgoing.once("response", stop).once("upgrade", stop).once("close", stop);
}
