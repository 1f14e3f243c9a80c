/** `npm run docs`: writes docs/sdk.md from the comments of what is exported; `--check` tells whether it is up to date. @module */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { PAGE_FILE, renderReference } from "./reference.ts";

const { check } = parseArgs({ options: { check: { type: "boolean", default: false } } }).values;

try {
  const { page, missing } = renderReference();
  const isFresh = read() === page;
  if (check && !isFresh) throw new Error("docs/sdk.md is stale: run npm run docs");
  if (!isFresh) {
    writeFileSync(PAGE_FILE, page);
    process.stdout.write("wrote docs/sdk.md\n");
  }
  if (missing.length > 0) throw new Error(`Cannot describe all that is exported:\n  ${missing.join("\n  ")}`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function read(): string | undefined {
  try {
    return readFileSync(PAGE_FILE, "utf8");
  } catch {
    return undefined;
  }
}
