/** Writes crds/ from api/, or with --check tells whether it is up to date. @module */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { crdFile, crdText } from "./crd.ts";
import { readDefinitions } from "./data.ts";
import { kinds } from "./kinds.ts";

/** Where the CRDs are. */
export const CRD_FOLDER = new URL("../../crds/", import.meta.url);

/** Returns the text that each file in crds/ should have, by file name. */
export function desiredFiles(): Map<string, string> {
  const { definitions } = readDefinitions();
  return new Map(kinds.map((kind) => [crdFile(kind.resource), crdText(kind, definitions)]));
}

/** Lists the files below `folder` that are missing, differ or should not be there, in order of name. */
export function staleFiles(desired: ReadonlyMap<string, string>, folder: URL): string[] {
  const present = new Set(listFolder(folder));
  const names = new Set([...desired.keys(), ...present]);
  const isStale = (name: string) =>
    !present.has(name) || readFileSync(new URL(name, folder), "utf8") !== desired.get(name);
  return [...names].filter(isStale).sort();
}

/** Tells what to do about stale files, `undefined` if there are none. */
export function complaint(stale: readonly string[]): string | undefined {
  if (stale.length === 0) return undefined;
  return `Cannot vouch for crds/: ${stale.join(", ")} not as api/ says, run npm run crds`;
}

function listFolder(folder: URL): string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder);
}

function write(desired: ReadonlyMap<string, string>, stale: readonly string[], folder: URL): void {
  for (const name of stale) {
    const text = desired.get(name);
    if (text === undefined) rmSync(new URL(name, folder));
    else writeFileSync(new URL(name, folder), text);
    process.stdout.write(`${text === undefined ? "removed" : "wrote"} crds/${name}\n`);
  }
}

function main(): void {
  const { check } = parseArgs({ options: { check: { type: "boolean", default: false } } }).values;
  const desired = desiredFiles();
  const stale = staleFiles(desired, CRD_FOLDER);
  if (!check) return write(desired, stale, CRD_FOLDER);
  const found = complaint(stale);
  if (found === undefined) return;
  process.stderr.write(`${found}\n`);
  process.exitCode = 1;
}

if (import.meta.main) main();
