/** Admits clients with a scoped token: signed with a shared secret, or with a private key. @module */
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

/**
 * Returns the claims of a `v1` token; undefined if no secret has signed it, or it has expired at `now` (milliseconds).
 */
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

/** Claims of a `v2` token. An empty value means the same as an absent one, as some signers cannot omit a claim. */
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
 * Returns the claims of a `v2` token; undefined if none of the keys has signed it, it has expired at `now`
 * (milliseconds), or it has unknown claims: an unknown claim may restrict the token.
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
 * | token | admits to |
 * |---|---|
 * | `v1` | the Sandbox with this namespace and name; all its ports, or the port in the token |
 * | `v2` | the Sandbox with this UID; all ports, methods and paths, or those in the token |
 *
 * @param uidOf UID of the Sandbox with this name; undefined: not known yet, and checked later when the Sandbox is found
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
