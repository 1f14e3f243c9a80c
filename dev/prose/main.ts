/**
 * Reports phrases that make readers stop, in pages, comments, messages and test titles. The maintained prose linters
 * (textlint, write-good, alex, retext) read Markdown and plain text, but not the comments and strings of TypeScript.
 * Vale reads comments, but its npm packages download a binary when they are installed. @module
 */
import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import process from "node:process";
import { findingsIn } from "./check.ts";

const ROOT = new URL("../../", import.meta.url);
const READ = /\.(?:md|[jt]sx?|mjs|ya?ml|py|go|sh|css|html|proto|tpl|txt)$|Containerfile$|^\.ci\/run$|package\.json$/;
/** Generated files, the table of phrases with its examples, and its tests. */
const LEFT_OUT = [
  /^crds\//,
  /^deploy\/v1alpha1\/crds\//,
  /^docs\/reference\//,
  /^packages\/runtime-api\/gen\//,
  /\.out\.yaml$/,
  /^dev\/prose\/phrases\.ts$/,
  /^test\/dev\/prose\.test\.ts$/,
];

/** Lists the tracked files to read. The targets of symlinks are read themselves. */
function trackedFiles(): string[] {
  const listed = execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0");
  return [...new Set(listed)].filter((file) =>
    READ.test(file) && !LEFT_OUT.some((pattern) => pattern.test(file)) &&
    lstatSync(new URL(file, ROOT), { throwIfNoEntry: false })?.isFile()
  );
}

const findings = trackedFiles().flatMap((file) => findingsIn(file, readFileSync(new URL(file, ROOT), "utf8")));
for (const { file, line, column, found, instead } of findings) {
  process.stdout.write(`${file}:${line}:${column}: "${found}": write ${instead}\n`);
}
if (findings.length > 0) {
  process.stderr.write(`${findings.length} phrases to replace; dev/prose/phrases.ts has an example of each\n`);
  process.exitCode = 1;
}
