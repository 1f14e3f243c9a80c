/**
 * The token of one sandbox's runtime, derived from a key of the sandbox's namespace. The router and an init container
 * of the Pod derive the same token, so that the sandbox itself never has the key. @module
 */
import { base64url } from "./scopedtoken.ts";

/** Name of the Secret with the key, in the namespace of the sandboxes. Its entry is {@link RUNTIME_KEY_ENTRY}. */
export const RUNTIME_KEY_SECRET = "hookbox-runtime-key";
/** The entry of the Secret. Every byte counts, a line break at the end, too. */
export const RUNTIME_KEY_ENTRY = "key";
/** A shorter key could be guessed from the token, which the sandbox has. */
const LEAST_KEY_BYTES = 32;

/** Distinguishes these tokens from everything else that the same key signs. */
const DOMAIN = "hookbox/runtime-token/v1.";

/**
 * Derives the token of the runtime in one Pod: HMAC-SHA256 of a fixed text and the Pod's UID, in base64url.
 *
 * @throws {RangeError} if the key is shorter than {@link LEAST_KEY_BYTES}, or there is no UID
 */
export async function deriveRuntimeToken(key: Uint8Array, podUID: string): Promise<string> {
  if (key.length < LEAST_KEY_BYTES) {
    throw new RangeError(`the key has ${key.length} bytes, and needs at least ${LEAST_KEY_BYTES}`);
  }
  if (podUID === "") throw new RangeError("the UID of the Pod is not known");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", Uint8Array.from(key), algorithm, false, ["sign"]);
  return base64url(
    new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(DOMAIN + podUID))),
  );
}
