/** Creates random ids. @module */

/** Returns 32 random hexadecimal digits. `crypto.randomUUID` does not exist on pages that were loaded by plain HTTP. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
