/**
 * Limits of the size of objects, and estimates of their size. Metacontroller stores the applied object in an annotation of each child, so that a child
 * contains everything twice. The API server allows 256 KiB for all annotations of an object, which is less than for the
 * object. @module
 */

/** The API server's message. Source: k8s.io/apimachinery pkg/api/validation/objectmeta.go. */
const TOO_LONG = /annotations: Too long: may not be more than 262144 bytes/;

const WHY =
  "Metacontroller keeps what it applied in an annotation, and all annotations of an object may have 256 KiB: the Pod's " +
  "spec with its labels and annotations may have about 250 KiB, its annotations alone 125 KiB, and what a claim adds to " +
  "them 80 KiB. Put what is larger into a ConfigMap, a Secret or the image";

/**
 * Returns the API server's message. If the object is too large, the limits are added to the message, unless it has them
 * already.
 */
export function withLimit(message: string): string {
  return isTooLong(message) && !message.includes(WHY) ? `${message}. ${WHY}` : message;
}

/** Tells whether the API server refuses an object because its annotations are too large. */
export function isTooLong(message: string): boolean {
  return TOO_LONG.test(message);
}

/** The largest Sandbox that a pool can create, in bytes of JSON; an estimate. */
const MOST_BYTES = 250 * 1024;

/**
 * Returns a message if an object is too large to be created; undefined: it is not. @param what what the message calls
 * the object
 */
export function tooLarge(what: string, object: object): string | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify(object)).length;
  return bytes > MOST_BYTES ? `${what} has ${Math.round(bytes / 1024)} KiB. ${WHY}` : undefined;
}

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
