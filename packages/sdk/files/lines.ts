/** Lines of a stream that may not end, each as soon as it is there. @module */

/** Longest line, in characters: no path is as long. */
const LINE_CHARACTERS = 1 << 20;

/** Yields lines without their ends; what follows the last end of line is half a line and left out. @throws if nothing comes for `silenceMs`, or a line does not end */
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
