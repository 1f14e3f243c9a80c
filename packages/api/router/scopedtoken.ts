/** Tokens that open one sandbox until a time: their format, and how they are signed. Web Crypto alone. Source: Agent Sandbox API, section 7.1. @module */

/** What a token opens; without `port` every port. `exp` in seconds since the epoch. */
export interface TokenClaims {
  ns: string;
  name: string;
  exp: number;
  port?: number | undefined;
}

/** Keeps signatures of this kind apart from all others of the same secret. */
const DOMAIN = "agent-sandbox/scoped-token/v1.";

/** Makes a token: `v1.<claims>.<HMAC-SHA256>`, both parts in base64url. The HMAC is that of a fixed text and the claims' part. */
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

/** Returns what a secret signs, of the part with the claims. */
export function signedText(payload: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(DOMAIN + payload);
}

function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
