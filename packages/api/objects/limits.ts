/**
 * How large objects may be. Metacontroller keeps what it applied in an annotation of each child, so that everything is
 * there twice, and the API server allows 256 KiB for all annotations of an object: less than for the object. Pure.
 * @module
 */

/** What the API server says. Source: k8s.io/apimachinery pkg/api/validation/objectmeta.go. */
const TOO_LONG = /annotations: Too long: may not be more than 262144 bytes/;

const WHY =
  "Metacontroller keeps what it applied in an annotation, and all annotations of an object may have 256 KiB: the Pod's " +
  "spec with its labels and annotations may have about 250 KiB, its annotations alone 125 KiB, and what a claim adds to " +
  "them 80 KiB. Put what is larger into a ConfigMap, a Secret or the image";

/** Returns a refusal in the API server's words, with the limit that stands behind them where that is one of size. */
export function withLimit(message: string): string {
  return TOO_LONG.test(message) ? `${message}. ${WHY}` : message;
}

/** Bytes of JSON that a Sandbox which a pool makes may have, about. */
const MOST_BYTES = 250 * 1024;

/** Says that an object is too large to be made; undefined: it is not. @param what it is called */
export function tooLarge(what: string, object: object): string | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify(object)).length;
  return bytes > MOST_BYTES ? `${what} has ${Math.round(bytes / 1024)} KiB. ${WHY}` : undefined;
}
