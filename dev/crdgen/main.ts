/** Writes the CRDs from packages/api. With --check, tells whether they are up to date. @module */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { complaint, CRD_FOLDER, desiredFiles, staleFiles, V1ALPHA1_CRD_FOLDER } from "./crd.ts";

const { check } = parseArgs({ options: { check: { type: "boolean", default: false } } }).values;
const folders = [
  { name: "crds", folder: CRD_FOLDER, desired: desiredFiles() },
  { name: "deploy/v1alpha1/crds", folder: V1ALPHA1_CRD_FOLDER, desired: desiredFiles(true) },
];

for (const { name, folder, desired } of folders) {
  const stale = staleFiles(desired, folder);
  const found = complaint(stale);
  if (check && found !== undefined) {
    process.stderr.write(`${name}: ${found}\n`);
    process.exitCode = 1;
  } else if (!check) {
    mkdirSync(folder, { recursive: true });
    for (const file of stale) write(folder, name, file, desired.get(file));
  }
}

function write(folder: URL, name: string, file: string, text: string | undefined): void {
  if (text === undefined) rmSync(new URL(file, folder));
  else writeFileSync(new URL(file, folder), text);
  process.stdout.write(`${text === undefined ? "removed" : "wrote"} ${name}/${file}\n`);
}
