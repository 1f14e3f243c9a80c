/** Certificate and key from files, and when they are no longer what they were: a Secret that is mounted changes in place. @module */
import { createPrivateKey, X509Certificate } from "node:crypto";
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

/** How to follow the files. */
export interface FollowOptions {
  /** What was read of them first. */
  tls: { cert: string; key: string };
  /** Time between two looks, in milliseconds. */
  everyMs: number;
  /** How long a new certificate is seen before it is given, in milliseconds: who is to trust it has to learn of its signer. */
  delayMs: number;
  /** Gives a new certificate, or says why it cannot be used: it is tried again when it changes. */
  renewed(tls: { cert: string; key: string }): void;
}

/**
 * Looks at certificate and key now and then, and gives them once they are others and have been for a while. A certificate
 * that has ended meanwhile is replaced at once.
 *
 * @returns ends that
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

/** Undefined: one is missing or does not belong to the other, as while they are being replaced. */
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
