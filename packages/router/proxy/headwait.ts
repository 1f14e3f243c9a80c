/** How long, and how often, a sandbox may put off the head of its answer. @module */
import type { ClientRequest } from "node:http";
import process from "node:process";
import { CHATTER, SILENCE } from "./failure.ts";

/** Informational answers (1xx) before the answer itself. */
const MOST_INFORMATIONAL = 16;

/** Ends a request that is silent for `responseHeaderTimeout` milliseconds, whose answer has not begun so long after its end, or is put off too often. */
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
  // Whatever comes makes a connection count as not silent: a part of a head, or 1xx without end.
  outgoing.once("finish", () => {
    if (!isAnswered && responseHeaderTimeout > 0) timer = setTimeout(late, responseHeaderTimeout);
  });
  const giveUp = () => isAnswered || outgoing.destroy(CHATTER);
  outgoing.on("information", () => {
    // Not before the rest is parsed: where a switch of protocols follows, node:http leaves nobody to take the error.
    if (++informational === MOST_INFORMATIONAL + 1) process.nextTick(giveUp);
  });
  outgoing.once("response", stop).once("upgrade", stop).once("close", stop);
}
