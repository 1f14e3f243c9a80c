/** Places in lists that are sorted by rank. Pure. @module */

/** Where an entry of that rank is, or belongs, in a sorted list. */
export function placeIn(sorted: readonly { rank: string }[], rank: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.rank ?? "") < rank) low = middle + 1;
    else high = middle;
  }
  return low;
}
