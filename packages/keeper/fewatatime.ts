/** Work on many things of which few are in hand at once. @module */

/**
 * Does `work` on each item, on no more than `most` at once, and returns the results in order.
 *
 * @throws what the first failure throws; what has begun goes on, and nothing else begins
 */
export async function fewAtATime<T, R>(items: T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const open = entriesOf(items);
  const worker = async () => {
    for (const [index, item] of open) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: most }, worker));
  return results;
}

/** A generator, not the array's own iterator: whoever leaves a loop over it by an exception ends it for all. */
function* entriesOf<T>(items: T[]): Generator<[number, T]> {
  yield* items.entries();
}
