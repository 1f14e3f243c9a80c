/**
 * Makes the tokens of one sandbox, with Web Crypto only: signs those that give clients access through a router until a
 * certain time (Agent Sandbox API, section 7.1, and 1.0.2 to 1.0.12), and derives that of its runtime. @module
 */

/**
 * The access that a token gives. If `port` is absent, it applies to every port. `exp` is in seconds since the epoch.
 */
export interface TokenClaims {
  ns: string;
  name: string;
  exp: number;
  port?: number | undefined;
}

/**
 * The access that a token of version 2 gives: to the Sandbox with this UID, but to no later Sandbox of the same name.
 * If port, method or path is absent, the token applies to all of them.
 */
export interface SandboxTokenClaims extends TokenClaims {
  uid: string;
  method?: string | undefined;
  /** A path without a query, with percent-encoding in upper case. */
  path?: string | undefined;
}

/** Distinguishes these signatures from all others with the same secret. */
const DOMAIN = "agent-sandbox/scoped-token/v1.";

/**
 * Creates a token: `v1.<claims>.<HMAC-SHA256>`, both parts in base64url. The HMAC is computed over a fixed text and the
 * encoded claims.
 */
export async function signToken(
  secret: Uint8Array<ArrayBuffer>,
  { ns, name, exp, port }: TokenClaims,
): Promise<string> {
  const claims = { ns, name, exp, ...(port === undefined ? {} : { port }) };
  const payload = base64url(new TextEncoder().encode(JSON.stringify(claims)));
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, signedText(payload));
  return `v1.${payload}.${base64url(new Uint8Array(signature))}`;
}

/** Returns the bytes that the secret signs: a fixed text and the encoded claims. */
export function signedText(payload: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(DOMAIN + payload);
}

const DOMAIN_V2 = "agent-sandbox/scoped-token/v2.";
const KEY_ID = /^[A-Za-z0-9_-]{1,128}$/;

/** Tells whether a text can be the name of a key. */
export function isKeyID(kid: string): boolean {
  return KEY_ID.test(kid);
}

/**
 * Creates a token of version 2: `v2.<kid>.<claims>.<Ed25519>`. To check the token, a router needs only the public key.
 *
 * @param kid name of the key, by which the router finds the public key
 * @param key Ed25519 private key with the usage `sign`
 * @throws {RangeError} if `kid` cannot be the name of a key
 */
export async function signSandboxToken(key: CryptoKey, kid: string, claims: SandboxTokenClaims): Promise<string> {
  if (!isKeyID(kid)) throw new RangeError(`Cannot sign with key "${kid}": a name has 1 to 128 letters, digits, - or _`);
  const { ns, name, uid, port, method, path, exp } = claims;
  const payload = base64url(new TextEncoder().encode(JSON.stringify({
    ns,
    name,
    uid,
    ...(port === undefined ? {} : { port }),
    ...(method === undefined ? {} : { method: method.toUpperCase() }),
    ...(path === undefined ? {} : { path: normalPath(path) }),
    exp,
  })));
  const signature = await crypto.subtle.sign("Ed25519", key, sandboxSignedText(kid, payload));
  return `v2.${kid}.${payload}.${base64url(new Uint8Array(signature))}`;
}

/** Reads a private key for {@link signSandboxToken}. @throws {Error} if the text is not an Ed25519 private key (PKCS #8) in PEM */
export async function readSigningKey(pem: string): Promise<CryptoKey> {
  const [, text = ""] = /-----BEGIN PRIVATE KEY-----([^-]*)-----END/.exec(pem) ?? [];
  const der = Uint8Array.from(atob(text.replaceAll(/\s/g, "")), (character) => character.charCodeAt(0));
  return await crypto.subtle.importKey("pkcs8", der, "Ed25519", false, ["sign"]);
}

/** Returns the bytes that a key signs: a fixed text, the name of the key, and the encoded claims. */
export function sandboxSignedText(kid: string, payload: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${DOMAIN_V2}${kid}.${payload}`);
}

/** Returns a path in the form that tokens use: without a query, percent-encoding in upper case. */
export function normalPath(path: string): string {
  const [name = ""] = path.split("?", 1);
  return name.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase()) || "/";
}

/** Encodes bytes in base64url, without padding. */
function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Name of the Secret with the key of the runtimes, in the namespace of the sandboxes. Its entry is {@link RUNTIME_KEY_ENTRY}. */
export const RUNTIME_KEY_SECRET = "hookbox-runtime-key";
/** The entry of the Secret. Every byte counts, a line break at the end, too. */
export const RUNTIME_KEY_ENTRY = "key";
/** A shorter key could be guessed from the token, which the sandbox has. */
const LEAST_KEY_BYTES = 32;

/** Distinguishes these tokens from everything else that the same key signs. */
const RUNTIME_DOMAIN = "hookbox/runtime-token/v1.";

/**
 * Derives the token of the runtime in one Pod, so that the sandbox itself never has the key: HMAC-SHA256 of a fixed text and the Pod's UID, in base64url.
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
    new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(RUNTIME_DOMAIN + podUID))),
  );
}
