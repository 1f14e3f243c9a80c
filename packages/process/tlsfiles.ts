/** Reads a certificate and its key from files, and notices when they change: a mounted Secret changes in place. @module */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

/** Paths of PEM files. */
export interface TLSFiles {
  certificate: string;
  key: string;
}

/** Reads both files. @throws {Error} with one sentence if a file cannot be read */
export function readTLSFiles({ certificate, key }: TLSFiles): { cert: string; key: string } {
  return { cert: read(certificate), key: read(key) };
}

/** Options of {@link followTLSFiles}. */
export interface FollowOptions {
  /** The contents of the files when they were first read. */
  tls: { cert: string; key: string };
  /** Time between two reads, in milliseconds. */
  everyMs: number;
  /** How long to wait before a new certificate is used, in milliseconds: clients must first get its issuer. */
  delayMs: number;
  /** Called with a new certificate and its key. */
  renewed(tls: { cert: string; key: string }): void;
}

/**
 * Reads certificate and key repeatedly. Calls `renewed` if they have changed and `delayMs` have passed since then. If
 * the current certificate has expired, `renewed` is called at once.
 *
 * @returns a function that stops this
 */
export function followTLSFiles(files: TLSFiles, options: FollowOptions): () => void {
  let { cert: current } = options.tls;
  let seen = { cert: current, at: 0 };
  const looking = setInterval(() => {
    const tls = readBoth(files);
    if (!tls || tls.cert === current) return;
    if (tls.cert !== seen.cert) seen = { cert: tls.cert, at: performance.now() };
    if (performance.now() - seen.at < options.delayMs && !hasEnded(current)) return;
    current = tls.cert;
    options.renewed(tls);
  }, options.everyMs);
  return () => clearInterval(looking);
}

function hasEnded(cert: string): boolean {
  return Date.parse(new X509Certificate(cert).validTo) <= Date.now();
}

/**
 * Reads both files; undefined: one is missing, or the key does not match the certificate, as while the files are being
 * replaced.
 */
function readBoth(files: TLSFiles): { cert: string; key: string } | undefined {
  try {
    const { cert, key } = readTLSFiles(files);
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)) ? { cert, key } : undefined;
  } catch {
    return undefined;
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`Cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}
