/** A certificate that is replaced in place is used after the delay, or at once if the one in use has ended. @module */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type KeyedCertificate, makeCertificate } from "../../dev/cluster/certificates.ts";
import { followTLSFiles, readTLSFiles } from "../../packages/process/tlsfiles.ts";
import { makeTempFolder } from "../tempfolder.ts";

const NAMES = ["first", "second", "third"];
const certificates = await Promise.all(
  NAMES.map((commonName) => makeCertificate({ commonName, use: "authority" })),
);
const [first, second, third] = certificates as [KeyedCertificate, KeyedCertificate, KeyedCertificate];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Follows files that have the first certificate, every 2 s with a delay of a minute. */
function begin() {
  const folder = makeTempFolder();
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  const replace = (path: string, text: string) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const put = ({ certificate, key }: KeyedCertificate) => {
    replace(files.key, key);
    replace(files.certificate, certificate);
  };
  put(first);
  const used: string[] = [];
  const renewed = ({ cert }: { cert: string }) =>
    void used.push(NAMES[certificates.findIndex(({ certificate }) => certificate === cert)] ?? "unknown");
  onTestFinished(followTLSFiles(files, { tls: readTLSFiles(files), everyMs: 2000, delayMs: 60_000, renewed }));
  return { files, put, replace, used };
}

test("a new certificate is used a minute after it was seen, and once", () => {
  const { put, used } = begin();
  vi.advanceTimersByTime(10_000);
  put(second);
  vi.advanceTimersByTime(61_000);
  expect(used).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(used).toEqual(["second"]);
  vi.advanceTimersByTime(600_000);
  expect(used).toEqual(["second"]);
});

test("if another one comes within the minute, the minute begins again", () => {
  const { put, used } = begin();
  put(second);
  vi.advanceTimersByTime(40_000);
  put(third);
  vi.advanceTimersByTime(60_000);
  expect(used).toEqual([]);
  vi.advanceTimersByTime(2000);
  expect(used).toEqual(["third"]);
});

test("if the one in use has ended, there is nothing to wait for", () => {
  const { put, used } = begin();
  put(second);
  vi.setSystemTime(Date.now() + 100 * 365 * 86_400_000);
  vi.advanceTimersByTime(2000);
  expect(used).toEqual(["second"]);
});

test("a certificate is not used without its own key", () => {
  const { files, put, replace, used } = begin();
  replace(files.certificate, second.certificate);
  vi.advanceTimersByTime(600_000);
  expect(used).toEqual([]);
  put(second);
  vi.advanceTimersByTime(62_000);
  expect(used).toEqual(["second"]);
});
