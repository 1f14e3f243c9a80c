/** Lets in who has a token for the sandbox, signed with a secret from a file that is replaced under our feet. Asks nobody. @module */
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import * as z from "zod";
import { errorFields, type Log } from "../../process/log.ts";
import { signedText, type TokenClaims } from "../../api/router/scopedtoken.ts";
import { type Authorise, unauthorized } from "./gate.ts";

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

function parsed(text: string): TokenClaims | undefined {
  try {
    return claimsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const LEAST_BYTES = 32;
const REREAD_MS = 30_000;

/**
 * Reads secrets, one in each line; the first signs, all open, so that one can take over from another.
 *
 * @throws {Error} if the file cannot be read; {RangeError} if it has no secret, or one shorter than 32 bytes
 */
export function readSecrets(path: string): Uint8Array<ArrayBuffer>[] {
  const lines = readFileSync(path, "utf8").split("\n").map((line) => line.trim()).filter(Boolean);
  const secrets = lines.map((line) => Buffer.from(line));
  if (secrets.length === 0 || secrets.some(({ length }) => length < LEAST_BYTES)) {
    throw new RangeError(`Cannot use the secrets in ${path}: each needs ${LEAST_BYTES} bytes or more`);
  }
  return secrets;
}

/** Returns what gives the secrets of the file, read anew now and then; what cannot be used leaves the last ones. @throws as {@link readSecrets}, the first time */
export function secretsIn(path: string, log: Log): () => readonly Uint8Array[] {
  let secrets = readSecrets(path);
  let readAt = performance.now();
  return () => {
    if (performance.now() - readAt < REREAD_MS) return secrets;
    readAt = performance.now();
    try {
      secrets = readSecrets(path);
    } catch (error) {
      log("error", "Cannot read the secrets again", { ...errorFields(error), stack: undefined });
    }
    return secrets;
  };
}

/**
 * Makes the decision of mode scoped-token.
 *
 * @param secrets asked each time: they are replaced while the router runs
 */
export function createScopedAccess(secrets: () => readonly Uint8Array[]): Authorise {
  return ({ target, token }) => {
    if (target.podIP !== undefined || target.uid !== undefined) {
      return { status: 403, detail: "A scoped token does not go with X-Sandbox-Pod-IP or X-Sandbox-UID." };
    }
    const claims = token === undefined ? undefined : openToken(secrets(), token, Date.now());
    if (!claims) return unauthorized(token);
    const { ns, name, port = target.port, exp } = claims;
    if (ns !== target.namespace || name !== target.name || port !== target.port) {
      return { status: 403, detail: "The token is for another sandbox or port." };
    }
    return { client: `token:${ns}/${name}`, expires: exp };
  };
}
