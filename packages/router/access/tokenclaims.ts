/** Reads unverified claims of a Kubernetes token: only the API server knows whether they are true. Pure. @module */
import { Buffer } from "node:buffer";

/**
 * Returns the user whose budget and cache share count. All ServiceAccounts of a namespace count as one user, because a
 * user who may create ServiceAccounts could have any number of them.
 */
export function requesterOf(username: string): string {
  return /^system:serviceaccount:[^:]+(?=:)/.exec(username)?.[0] ?? username;
}

/**
 * Returns the holder that a token names: a user, or all ServiceAccounts of a namespace.
 *
 * @returns the token itself if it names no holder
 */
export function holderOf(token: string): string {
  const { sub } = claimsOf(token);
  return typeof sub === "string" ? requesterOf(sub) : token;
}

/** Returns when a token expires, in seconds since the epoch; undefined: the token does not say. */
export function expiryOf(token: string): number | undefined {
  const { exp } = claimsOf(token);
  return typeof exp === "number" && Number.isFinite(exp) ? exp : undefined;
}

function claimsOf(token: string): { sub?: unknown; exp?: unknown } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".", 3)[1] ?? "", "base64url").toString());
    return typeof claims === "object" && claims !== null ? claims : {};
  } catch {
    return {};
  }
}
