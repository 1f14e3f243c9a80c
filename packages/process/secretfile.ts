/** Reads files with secrets, and reads them again while the process runs, so that operators can replace them. @module */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { errorFields, type Log } from "./log.ts";

const REREAD_MS = 30_000;

/**
 * Returns a function that returns the content of a file, which it reads again every 30 s. If the file becomes unusable,
 * the last content stays in use.
 *
 * @param what for the log, such as `secrets`
 * @throws what `read` throws at the first time
 */
export function readAgain<T>(read: () => T, what: string, log: Log): () => T {
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

/**
 * As {@link readAgain} for secrets, of a file that may come later: until it exists, there are none.
 *
 * @throws nothing; a file that cannot be used counts as one that does not exist
 */
export function readWhenThere(path: string, log: Log): () => readonly Uint8Array[] {
  let read: (() => readonly Uint8Array[]) | undefined;
  let triedAt = -Infinity;
  return () => {
    if (!read && performance.now() - triedAt >= REREAD_MS) {
      triedAt = performance.now();
      try {
        read = readAgain(() => readSecrets(path), "secrets", log);
      } catch {
        // Usually it is not mounted.
      }
    }
    return read?.() ?? [];
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
