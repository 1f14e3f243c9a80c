/** Telling stale CRDs from fresh ones. @module */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { staleFiles } from "../../../dev/crdgen/crd.ts";

function folderOf(files: Record<string, string>): URL {
  const folder = mkdtempSync(join(tmpdir(), "crdgen-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return pathToFileURL(`${folder}/`);
}

const desired = new Map([["a.yaml", "a\n"], ["b.yaml", "b\n"]]);

test("staleFiles() names the changed, the missing and the left-over", () => {
  expect(staleFiles(desired, folderOf({ "b.yaml": "b\nmore\n", "old.yaml": "" }))).toEqual([
    "a.yaml",
    "b.yaml",
    "old.yaml",
  ]);
});
