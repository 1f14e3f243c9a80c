/** One session over the streams of a process: that of the agent who has started it. @module */
import { type Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { SessionServer } from "./server.ts";

/** Where messages go. */
export interface Messages {
  write(data: Uint8Array): void;
  /** Resolves when there is room for more. */
  drained(): Promise<void>;
}

/** Bytes of a message. What is larger ends the session: it had better be more than any tool takes. */
const MOST_BYTES = 64 << 20;

/**
 * Serves until the input ends or `signal` fires; then ends the session. Nothing but messages may be written to `output`.
 *
 * @returns the names of sandboxes that were deleted with the session
 */
export async function serveStdio(
  { server, session }: SessionServer,
  input: Readable,
  output: Messages,
  signal: AbortSignal,
): Promise<string[]> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  for (const event of ["end", "close", "error"]) input.once(event, end);
  signal.addEventListener("abort", end, { once: true });
  const transport = new StdioServerTransport(input, writableOf(output), { maxBufferSize: MOST_BYTES });
  // It closes by itself where a message is larger than that.
  transport.onclose = end;
  await server.connect(transport);
  if (signal.aborted || input.readableEnded) end();
  await over;
  signal.removeEventListener("abort", end);
  await server.close();
  return await session.end();
}

function writableOf(output: Messages): Writable {
  return new Writable({
    write(chunk: Uint8Array, _, done) {
      output.write(chunk);
      output.drained().then(() => done(), done);
    },
  });
}
