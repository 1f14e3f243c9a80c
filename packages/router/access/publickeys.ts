/** Public keys that scoped tokens of the second format are checked by: their files. @module */
import { createPublicKey, type KeyObject } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { isKeyID } from "../../api/router/scopedtoken.ts";

/** By their names. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

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
 * Reads them: a JSON Web Key Set, or a folder with a file `<kid>.pem` for each.
 *
 * @throws {Error} if the files cannot be read; {RangeError} if there is none, or one is no public key of Ed25519
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
