/** Has a connection that cannot be written to any more be read to its end: an answer may have come before. @module */
import type { Socket } from "node:net";

/** What a peer's end looks like to who writes. */
const HUNG_UP = new Set(["EPIPE", "ECONNRESET", "ECONNABORTED"]);

type Write = (this: Socket, ...args: unknown[]) => void;

/**
 * Drops what is written once the peer has hung up. A server that answers before an upload has ended, and closes, resets the
 * connection: its answer still waits to be read, but Node ends the whole connection when a write fails. Whoever reads
 * comes to the answer, or to the error.
 */
export function outliveWrites(socket: Socket): Socket {
  const methods = socket as unknown as Record<"_write" | "_writev", Write | undefined>;
  let isDeaf = false;
  for (const name of ["_write", "_writev"] as const) {
    const write = methods[name];
    if (!write) continue;
    methods[name] = function (...args) {
      const done = args.pop() as (error?: Error | null) => void;
      if (isDeaf) return done();
      write.call(this, ...args, (error?: NodeJS.ErrnoException | null) => {
        isDeaf = error?.code !== undefined && HUNG_UP.has(error.code);
        done(isDeaf ? null : error);
      });
    };
  }
  return socket;
}
