/** The format of tokens that open one sandbox until a time. Signs nothing itself. Source: Agent Sandbox API, section 7.1. @module */

/** What a token opens; without `port` every port. `exp` in seconds since the epoch. */
export interface TokenClaims {
  ns: string;
  name: string;
  exp: number;
  port?: number | undefined;
}

/** Keeps signatures of this kind apart from all others of the same secret. */
const DOMAIN = "agent-sandbox/scoped-token/v1.";

/** Returns the token's part that holds the claims. */
export function payloadOf({ ns, name, exp, port }: TokenClaims): string {
  return base64url(
    new TextEncoder().encode(JSON.stringify({ ns, name, exp, ...(port === undefined ? {} : { port }) })),
  );
}

/** Returns what a secret signs, by HMAC-SHA256. */
export function signedText(payload: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(DOMAIN + payload);
}

/** Puts a token together: `v1.<claims>.<HMAC>`, both parts in base64url. */
export function tokenOf(payload: string, signature: Uint8Array): string {
  return `v1.${payload}.${base64url(signature)}`;
}

function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
