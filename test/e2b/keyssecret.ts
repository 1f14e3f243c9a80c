/** The Secret with the API keys of a project. @module */
import { Buffer } from "node:buffer";
import { keyHash } from "../../packages/api/e2b/identity.ts";
import { KEYS_SECRET, type Right, RIGHTS } from "../../packages/api/e2b/objects.ts";

/** Returns the Secret. @param keys by name; without `rights`, a key has all of them */
export function keysSecret(
  namespace: string,
  keys: Record<string, { apiKey: string; rights?: readonly Right[] }>,
): object {
  const data = Object.fromEntries(
    Object.entries(keys).map(([name, { apiKey, rights = RIGHTS }]) => {
      const entry = { sha256: keyHash(apiKey), rights, createdAt: "2026-01-01T00:00:00Z" };
      return [name, Buffer.from(JSON.stringify(entry)).toString("base64")];
    }),
  );
  return { apiVersion: "v1", kind: "Secret", metadata: { name: KEYS_SECRET, namespace }, data };
}
