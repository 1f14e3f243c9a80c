/** Writes crds/ from api/, or with --check tells whether it is up to date. Entry point only. @module */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { complaint, CRD_FOLDER, desiredFiles, staleFiles } from "./files.ts";

const { check } = parseArgs({ options: { check: { type: "boolean", default: false } } }).values;
const desired = desiredFiles();
const stale = staleFiles(desired, CRD_FOLDER);
const found = complaint(stale);

if (!check) {
  mkdirSync(CRD_FOLDER, { recursive: true });
  for (const name of stale) write(name, desired.get(name));
} else if (found !== undefined) {
  process.stderr.write(`${found}\n`);
  process.exitCode = 1;
}

function write(name: string, text: string | undefined): void {
  if (text === undefined) rmSync(new URL(name, CRD_FOLDER));
  else writeFileSync(new URL(name, CRD_FOLDER), text);
  process.stdout.write(`${text === undefined ? "removed" : "wrote"} crds/${name}\n`);
}
