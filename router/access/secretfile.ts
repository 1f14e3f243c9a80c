/** The secrets of scoped tokens, from a file that is replaced under our feet. @module */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { errorFields, type Log } from "../../lib/log.ts";

const LEAST_BYTES = 32;
const REREAD_MS = 30_000;

/**
 * Reads secrets, one in each line; the first signs, all open, so that one can take over from another.
 *
 * @throws {Error} if the file cannot be read; {RangeError} if it has no secret, or one shorter than 32 bytes
 */
export function readSecrets(path: string): Uint8Array[] {
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
