/** Certificate and key from files, and when they are no longer what they were: a Secret that is mounted changes in place. @module */
import { readFileSync } from "node:fs";

/** Paths of PEM files. */
export interface TLSFiles {
  certificate: string;
  key: string;
}

/** Reads both. @throws {Error} in one sentence if a file cannot be read */
export function readTLSFiles({ certificate, key }: TLSFiles): { cert: string; key: string } {
  return { cert: read(certificate), key: read(key) };
}

/**
 * Looks at the certificate now and then, and calls once when it is another.
 *
 * @param everyMs time between two looks
 * @returns ends that
 */
export function onCertificateChange(files: TLSFiles, before: string, changed: () => void, everyMs: number): () => void {
  const looking = setInterval(() => {
    if (!isOther(files.certificate, before)) return;
    clearInterval(looking);
    changed();
  }, everyMs);
  return () => clearInterval(looking);
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`Cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** While a file is being replaced it may be missing. */
function isOther(file: string, before: string): boolean {
  try {
    return read(file) !== before;
  } catch {
    return false;
  }
}
