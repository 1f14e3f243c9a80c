/**
 * Admits clients with a scoped token, and reads the files with the secrets and public keys that check such tokens.
 * @module
 */
import { Buffer } from "node:buffer";
import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import {
  isKeyID,
  normalPath,
  sandboxSignedText,
  type SandboxTokenClaims,
  signedText,
  type TokenClaims,
} from "../../api/router/scopedtoken.ts";
import type { Log } from "../../process/log.ts";
import { readAgain, readSecrets } from "../../process/secretfile.ts";
import type { Target } from "../destination.ts";
import { unauthorized } from "../refusal.ts";
import type { Authorise } from "./gate.ts";

const claimsSchema = z.object({
  ns: z.string(),
  name: z.string(),
  exp: z.number(),
  port: z.number().optional(),
});

const VALID = "a token that was signed for this Sandbox and has not expired. See docs/router.md";
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
  const claims = claimsFrom(Buffer.from(payload, "base64url").toString());
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

function claimsFrom(text: string): TokenClaims | undefined {
  try {
    return claimsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Creates the decision of mode scoped-token.
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
    if (!claims) return unauthorized(token, VALID);
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

/** Public keys by their key IDs. */
type PublicKeys = ReadonlyMap<string, KeyObject>;

/** The current keys. Operators replace the files while the router runs, so callers call these for every token. */
interface TokenKeys {
  secrets(): readonly Uint8Array[];
  publicKeys(): PublicKeys;
}

/** Paths of the key files; absent: there are no keys of this kind. */
interface TokenKeyFiles {
  secretFile?: string | undefined;
  publicKeysFile?: string | undefined;
}

/** Reads the keys now and every 30 s. @throws what {@link readSecrets} and {@link readPublicKeys} throw */
export function createTokenKeys({ secretFile, publicKeysFile }: TokenKeyFiles, log: Log): TokenKeys {
  return {
    secrets: secretFile ? readAgain(() => readSecrets(secretFile), "secrets", log) : () => [],
    publicKeys: publicKeysFile ? readAgain(() => readPublicKeys(publicKeysFile), "public keys", log) : () => new Map(),
  };
}

const jwksSchema = z.object({
  keys: z.array(z.object({
    kty: z.literal("OKP"),
    crv: z.literal("Ed25519"),
    kid: z.string(),
    x: z.string(),
    d: z.never("a private key is not for the router").optional(),
  })),
});

/**
 * Reads public keys: a JSON Web Key Set, or a folder with a file `<kid>.pem` for each key.
 *
 * @throws {Error} if the files cannot be read; {RangeError} if there is no key, or one is not a public key of Ed25519
 */
export function readPublicKeys(path: string): PublicKeys {
  const found = statSync(path).isDirectory() ? pemsIn(path) : jwksIn(path);
  const keys = new Map<string, KeyObject>();
  for (const [kid, key] of found) {
    if (!isKeyID(kid)) throw new RangeError(`Cannot use key "${kid}" in ${path}: a name has letters, digits, - or _`);
    if (keys.has(kid)) throw new RangeError(`Cannot use the keys in ${path}: two are named "${kid}"`);
    if (key.asymmetricKeyType !== "ed25519") throw new RangeError(`Cannot use key "${kid}" in ${path}: not Ed25519`);
    keys.set(kid, key);
  }
  if (keys.size === 0) throw new RangeError(`Cannot use the keys in ${path}: there is none`);
  return keys;
}

function pemsIn(folder: string): [string, KeyObject][] {
  return readdirSync(folder).filter((name) => name.endsWith(".pem")).map((name) => {
    const pem = readFileSync(join(folder, name), "utf8");
    if (pem.includes("PRIVATE KEY")) {
      throw new RangeError(`Cannot use ${join(folder, name)}: a private key is not for the router`);
    }
    return [name.slice(0, -".pem".length), publicKeyOf(join(folder, name), pem)];
  });
}

function jwksIn(path: string): [string, KeyObject][] {
  let parsed: z.infer<typeof jwksSchema>;
  try {
    parsed = jwksSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    throw new RangeError(`Cannot use the keys in ${path}: it is no JSON Web Key Set of public Ed25519 keys`, {
      cause: error,
    });
  }
  return parsed.keys.map(({ kty, crv, kid, x }) => [kid, publicKeyOf(path, { key: { kty, crv, x }, format: "jwk" })]);
}

function publicKeyOf(path: string, key: Parameters<typeof createPublicKey>[0]): KeyObject {
  try {
    return createPublicKey(key);
  } catch (error) {
    throw new RangeError(`Cannot use the keys in ${path}: one is no public key`, { cause: error });
  }
}
