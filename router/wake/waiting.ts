/** Waits for a sandbox on behalf of a client, as long as the client does. Forwards nothing. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isGone } from "../proxy/versions.ts";
import type { Reach } from "../reach.ts";
import type { Target } from "../destination/target.ts";
import type { Held } from "./hold.ts";
import { isNavigation, sendPage } from "./page.ts";

/** A browser that can be served within this sees no page in between, in milliseconds. */
const PAGELESS_MS = 700;

/**
 * Waits for the sandbox of a request; a browser gets a page instead, while the sandbox wakes up.
 *
 * @returns undefined if the client has been answered, or has gone
 */
export async function waitFor(
  { hold }: Reach,
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Held | undefined> {
  const isPatient = !isNavigation(request);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  // What a browser has begun goes on without it: the page comes back.
  const holding = hold(target, gone.signal, !isPatient);
  const held = isPatient ? await holding : await Promise.race([holding, pause(PAGELESS_MS)]);
  if (isGone(response)) return undefined;
  if (!held) sendPage(response, target.namespace, target.name);
  return held;
}

/** Waits for the sandbox of a request for another protocol; undefined if the client has gone. */
export async function waitForRaw({ hold }: Reach, target: Target, socket: Socket): Promise<Held | undefined> {
  const gone = new AbortController();
  const abort = () => gone.abort();
  // Only who reads notices an end; what comes meanwhile stays in the buffer.
  const look = () => {};
  socket.on("readable", look).once("end", abort).once("close", abort);
  const held = await hold(target, gone.signal);
  socket.off("readable", look).off("end", abort).off("close", abort);
  return socket.destroyed || gone.signal.aborted ? void socket.destroy() : held;
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms));
}
