/** Lets in who has a token for the sandbox, signed with a secret or by a key. Asks nobody. @module */
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual, verify } from "node:crypto";
import * as z from "zod";
import {
  normalPath,
  sandboxSignedText,
  type SandboxTokenClaims,
  signedText,
  type TokenClaims,
} from "../../api/router/scopedtoken.ts";
import type { Target } from "../destination.ts";
import { type Authorise, unauthorized } from "./gate.ts";
import type { PublicKeys, TokenKeys } from "./tokenkeys.ts";

const claimsSchema = z.object({
  ns: z.string(),
  name: z.string(),
  exp: z.number(),
  port: z.number().optional(),
});

const TOKEN = /^v1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/** Returns what a token opens; undefined if no secret has signed it, or its time is over at `now` (milliseconds). */
export function openToken(secrets: readonly Uint8Array[], token: string, now: number): TokenClaims | undefined {
  const [, payload = "", signature = ""] = TOKEN.exec(token) ?? [];
  const given = Buffer.from(signature, "base64url");
  const isSigned = secrets.some((secret) => {
    const wanted = signatureOf(secret, payload);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  if (!isSigned) return undefined;
  const claims = parsed(Buffer.from(payload, "base64url").toString());
  return claims && claims.exp * 1000 > now ? claims : undefined;
}

function signatureOf(secret: Uint8Array, payload: string): Buffer {
  return createHmac("sha256", secret).update(signedText(payload)).digest();
}

/** What a signer writes who has no way to leave a part out means the same as if it was left out. */
const sandboxClaimsSchema = z.strictObject({
  ns: z.string(),
  name: z.string(),
  uid: z.string().min(1),
  exp: z.number(),
  port: z.number().optional().transform((port) => port || undefined),
  method: z.string().optional().transform((method) => method || undefined),
  path: z.string().optional().transform((path) => path || undefined),
});

const SANDBOX_TOKEN = /^v2\.([A-Za-z0-9_-]{1,128})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/;

/**
 * Returns what a token of the second format opens; undefined if it was signed by none of the keys, its time is over, or it
 * has claims that nobody here knows: they may narrow what it opens.
 */
export function openSandboxToken(keys: PublicKeys, token: string, now: number): SandboxTokenClaims | undefined {
  const [, kid = "", payload = "", signature = ""] = SANDBOX_TOKEN.exec(token) ?? [];
  const key = keys.get(kid);
  if (!key || !verify(null, sandboxSignedText(kid, payload), key, Buffer.from(signature, "base64url"))) {
    return undefined;
  }
  try {
    const { data } = sandboxClaimsSchema.safeParse(JSON.parse(Buffer.from(payload, "base64url").toString()));
    return data && data.exp * 1000 > now ? data : undefined;
  } catch {
    return undefined;
  }
}

function parsed(text: string): TokenClaims | undefined {
  try {
    return claimsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Makes the decision of mode scoped-token.
 *
 * | token | opens |
 * |---|---|
 * | `v1` | a Sandbox of that namespace and name; the port that it names, else all |
 * | `v2` | the Sandbox of that UID alone; port, method and path that it names, else all of each |
 *
 * @param uidOf UID of the Sandbox of that name; undefined: not known yet, and left to who looks for it
 */
export function createScopedAccess(
  { secrets, publicKeys }: TokenKeys,
  uidOf: (target: Target) => string | undefined,
): Authorise {
  const open = (token: string) => {
    const now = Date.now();
    return token.startsWith("v2.") ? openSandboxToken(publicKeys(), token, now) : openToken(secrets(), token, now);
  };
  return ({ target, token, request }) => {
    if (target.podIP !== undefined || target.uid !== undefined) {
      return { status: 403, detail: "A scoped token does not go with X-Sandbox-Pod-IP or X-Sandbox-UID." };
    }
    const claims: (TokenClaims & Partial<SandboxTokenClaims>) | undefined = token === undefined
      ? undefined
      : open(token);
    if (!claims) return unauthorized(token);
    const { ns, name, port = target.port, exp, uid, method, path } = claims;
    const known = uid === undefined ? uid : uidOf(target) ?? uid;
    if (ns !== target.namespace || name !== target.name || port !== target.port || known !== uid) {
      return { status: 403, detail: "The token is for another sandbox or port." };
    }
    const isForThis = (method === undefined || method === request?.method) &&
      (path === undefined || (request !== undefined && path === normalPath(request.path)));
    if (!isForThis) return { status: 403, detail: "The token is for another method or path." };
    return { client: `token:${ns}/${name}`, expires: exp, ...(uid === undefined ? {} : { uid }) };
  };
}
