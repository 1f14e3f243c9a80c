/** Names that nobody else has. @module */

/** Returns 32 hexadecimal digits at random. A page that came by plain HTTP has no `crypto.randomUUID`. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
