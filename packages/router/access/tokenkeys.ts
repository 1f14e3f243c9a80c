/** Reads the files with the secrets and public keys that check scoped tokens. @module */
import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { isKeyID } from "../../api/router/scopedtoken.ts";
import { errorFields, type Log } from "../../process/log.ts";

/** Public keys by their key IDs. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** The current keys. Operators replace the files while the router runs, so callers call these for every token. */
export interface TokenKeys {
  secrets(): readonly Uint8Array[];
  publicKeys(): PublicKeys;
}

/** Paths of the key files; absent: there are no keys of this kind. */
export interface TokenKeyFiles {
  secretFile?: string | undefined;
  publicKeysFile?: string | undefined;
}

/** Reads the keys now and every 30 s. @throws what {@link readSecrets} and {@link readPublicKeys} throw */
export function createTokenKeys({ secretFile, publicKeysFile }: TokenKeyFiles, log: Log): TokenKeys {
  return {
    secrets: secretFile ? rereading(() => readSecrets(secretFile), "secrets", log) : () => [],
    publicKeys: publicKeysFile ? rereading(() => readPublicKeys(publicKeysFile), "public keys", log) : () => new Map(),
  };
}

const REREAD_MS = 30_000;

/** Returns a function that returns the content. If the file becomes unusable, the last content stays in use. */
function rereading<T>(read: () => T, what: string, log: Log): () => T {
  let content = read();
  let readAt = performance.now();
  return () => {
    if (performance.now() - readAt < REREAD_MS) return content;
    readAt = performance.now();
    try {
      content = read();
    } catch (error) {
      log("error", `Cannot read the ${what} again`, { ...errorFields(error), stack: undefined });
    }
    return content;
  };
}

const LEAST_BYTES = 32;

/**
 * Reads secrets, one per line. The first signs tokens and all of them check tokens, so that secrets can be rotated.
 *
 * @throws {Error} if the file cannot be read; {RangeError} if it has no secret, or a secret shorter than 32 bytes
 */
export function readSecrets(path: string): Uint8Array<ArrayBuffer>[] {
  const lines = readFileSync(path, "utf8").split("\n").map((line) => line.trim()).filter(Boolean);
  const secrets = lines.map((line) => Buffer.from(line));
  if (secrets.length === 0 || secrets.some(({ length }) => length < LEAST_BYTES)) {
    throw new RangeError(`Cannot use the secrets in ${path}: each needs ${LEAST_BYTES} bytes or more`);
  }
  return secrets;
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
