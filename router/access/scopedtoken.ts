/** Tokens that open one sandbox until a time: made and checked with a shared secret. Reads no clock. @module */
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod";

const claimsSchema = z.object({
  ns: z.string(),
  name: z.string(),
  exp: z.number(),
  port: z.number().optional(),
});

/** What a token opens; without `port` every port. `exp` in seconds since the epoch. */
export type Claims = z.infer<typeof claimsSchema>;

/** Keeps signatures of this kind apart from all others of the same secret. */
const DOMAIN = "agent-sandbox/scoped-token/v1.";
const TOKEN = /^v1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/**
 * Makes a token: `v1.<claims>.<HMAC-SHA256>`, both parts in base64url. The HMAC is that of a fixed text and the claims' part.
 * Source: Agent Sandbox API, section 7.1.
 */
export function signToken(secret: Uint8Array, { ns, name, exp, port }: Claims): string {
  const claims = { ns, name, exp, ...(port === undefined ? {} : { port }) };
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return `v1.${payload}.${signatureOf(secret, payload).toString("base64url")}`;
}

/** Returns what a token opens; undefined if no secret has signed it, or its time is over at `now` (milliseconds). */
export function openToken(secrets: readonly Uint8Array[], token: string, now: number): Claims | undefined {
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
  return createHmac("sha256", secret).update(DOMAIN + payload).digest();
}

function parsed(text: string): Claims | undefined {
  try {
    return claimsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
