/** Addresses that open one port of one sandbox until a time, for who has nothing but the address. Web Crypto alone. @module */
import { payloadOf, signedText, tokenOf } from "../../lib/scopedtoken.ts";

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
  const payload = payloadOf({ ns: namespace, name, exp: Math.floor(expiresAt.getTime() / 1000), port });
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, signedText(payload));
  return tokenOf(payload, new Uint8Array(signature));
}
