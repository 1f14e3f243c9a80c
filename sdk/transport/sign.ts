/** Addresses that open one port of one sandbox until a time, for who has nothing but the address. Web Crypto alone. @module */

/** What the router puts before what is signed. Source: Agent Sandbox API, section 7.1. */
const DOMAIN = "agent-sandbox/scoped-token/v1.";

/** What an address opens. */
export interface Grant {
  namespace: string;
  name: string;
  port: number;
  expiresAt: Date;
}

/** Makes the router's scoped token for it. */
export async function signGrant(
  secret: Uint8Array<ArrayBuffer>,
  { namespace, name, port, expiresAt }: Grant,
): Promise<string> {
  const claims = { ns: namespace, name, exp: Math.floor(expiresAt.getTime() / 1000), port };
  const payload = base64url(new TextEncoder().encode(JSON.stringify(claims)));
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(DOMAIN + payload));
  return `v1.${payload}.${base64url(new Uint8Array(signature))}`;
}

function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
