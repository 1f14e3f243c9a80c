/** Joins two connections into one. Reads nothing of what passes. @module */
import type { Socket } from "node:net";

/** A peer that has gone without a word is noticed after a few of these, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** Passes bytes both ways, an end of each way for itself, and an end of the whole to the other side. */
export function splice(one: Socket, other: Socket): void {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.setTimeout(0);
    from.setNoDelay(true);
    from.setKeepAlive(true, KEEP_ALIVE_MS);
    from.on("error", () => breakOff(to));
    // Whoever closes without having ended its own way has broken off.
    from.once("close", () => from.readableEnded || breakOff(to));
    from.pipe(to);
  }
}

/** Ends a connection so that its peer does not take it for a good end. */
function breakOff(socket: Socket): void {
  if (socket.destroyed) return;
  if ("encrypted" in socket || typeof socket.resetAndDestroy !== "function") socket.destroy();
  else socket.resetAndDestroy();
}
