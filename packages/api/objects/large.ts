/** Estimates how much memory an object needs. @module */

/**
 * Tells whether an object is larger than `most`. Its size is the number of characters of its keys and texts, and 8 for
 * each value. The function stops as soon as the result is certain.
 */
export function isLarge(object: object, most: number): boolean {
  let left = most;
  const rest: object[] = [object];
  const take = (value: unknown) => {
    left -= 8;
    if (typeof value === "string") left -= value.length;
    else if (typeof value === "object" && value !== null) rest.push(value);
  };
  for (let next = rest.pop(); next && left > 0; next = rest.pop()) {
    if (Array.isArray(next)) {
      for (let index = 0; index < next.length && left > 0; index++) take(next[index]);
      continue;
    }
    for (const key in next) {
      left -= key.length;
      take((next as Record<string, unknown>)[key]);
      if (left <= 0) break;
    }
  }
  return left <= 0;
}
