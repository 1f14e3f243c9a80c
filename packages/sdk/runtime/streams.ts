/** Converts between web streams and generators, one chunk at a time, so that nothing is read ahead. @module */

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
