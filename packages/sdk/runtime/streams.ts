/** Converts between web streams, generators and lines, one chunk at a time, so that nothing is read ahead. @module */

/** Yields the chunks of a stream. Leaving the loop cancels the stream. */
export async function* chunksOf<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * Returns a stream that requests the next chunk only when it is read.
 *
 * @param onCancel called when the reader cancels the stream, before the generator ends: the generator may be waiting
 * for a chunk
 * @param onError called with the error if the generator throws
 */
export function streamOf<T>(
  chunks: AsyncGenerator<T>,
  { onCancel = () => {}, onError = () => {} }: { onCancel?: () => void; onError?: (error: unknown) => void } = {},
): ReadableStream<T> {
  return new ReadableStream<T>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        onError(error);
        throw error;
      }
    },
    async cancel() {
      onCancel();
      await chunks.return(undefined).catch(() => {});
    },
  }, { highWaterMark: 0 });
}

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
