/** Reads the lines of a stream as they arrive. @module */

/** Longest line, in characters; longer than any path. */
const LINE_CHARACTERS = 1 << 20;

/**
 * Yields complete lines, without line ends. Text after the last line end is incomplete, and is dropped.
 *
 * @throws if no data arrives for `silenceMs` milliseconds, or a line is too long
 */
export async function* linesOf(
  body: ReadableStream<Uint8Array> | null,
  silenceMs: number,
): AsyncGenerator<string> {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    while (true) {
      const { done, value } = await within(silenceMs, reader.read());
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LINE_CHARACTERS) {
        throw new Error(`Cannot read a line: it has more than ${LINE_CHARACTERS} characters`);
      }
      yield* lines;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function within<T>(ms: number, waiting: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Cannot wait any longer: silence for ${ms} ms`)), ms);
  try {
    return await Promise.race([waiting, promise]);
  } finally {
    clearTimeout(timer);
  }
}
