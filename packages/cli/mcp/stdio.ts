/** Serves one MCP session over the streams of the process, for the agent that started it. @module */
import { type Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { SessionServer } from "./server.ts";

/** The stream for messages. */
export interface Messages {
  write(data: Uint8Array): void;
  /** Resolves when there is room for more. */
  drained(): Promise<void>;
}

/** Largest message in bytes. A larger one ends the session, so the limit is above what any tool accepts. */
const MAX_MESSAGE_BYTES = 64 << 20;

/**
 * Serves until the input ends or `signal` aborts, then ends the session. Only messages may be written to `output`.
 *
 * @returns the names of the sandboxes that were deleted with the session
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
  const transport = new StdioServerTransport(input, writableOf(output), { maxBufferSize: MAX_MESSAGE_BYTES });
  // The transport closes by itself if a message is too large.
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
