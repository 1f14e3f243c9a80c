/** Between web streams and generators, a chunk at a time: nothing is taken before there is room for it. @module */

/** Yields what a stream gives; leaving the loop cancels it. */
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
 * Turns chunks into a stream that asks for the next one only when it is read.
 *
 * @param onCancel called when nobody wants the rest, before the generator is told: it may be waiting for its next chunk
 * @param onError called with what the chunks failed of
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
