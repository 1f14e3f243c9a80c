/** What a token of Kubernetes says of itself. Only the API server knows whether that is true. Pure. @module */
import { Buffer } from "node:buffer";

/** Whose budget a user's questions cost, and whose share of the memory: whoever may make ServiceAccounts in a namespace could have any number of them. */
export function askerOf(username: string): string {
  return /^system:serviceaccount:[^:]+(?=:)/.exec(username)?.[0] ?? username;
}

/**
 * Returns whom a token says that it is of: a user, or the ServiceAccounts of one namespace.
 *
 * @returns the token itself if it says nothing
 */
export function holderOf(token: string): string {
  const { sub } = claimsOf(token);
  return typeof sub === "string" ? askerOf(sub) : token;
}

/** Returns when a token ends, in seconds since the epoch; undefined: it does not say. */
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
