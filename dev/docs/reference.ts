/** Which page is made of which modules. Reads sources, writes nothing. @module */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseModuleComment } from "./comment.ts";
import { complaints } from "./complaints.ts";
import { readExports } from "./denodoc.ts";
import { type Part, renderPage } from "./page.ts";

const ROOT = new URL("../../", import.meta.url);
/** The page, as a URL. */
export const PAGE_FILE = new URL("docs/sdk.md", ROOT);

const TITLE = "TypeScript SDK";
const NOTE = "<!-- Made from the comments in the code by `npm run docs`: change those. -->";
/** What users import, and where it is in the checkout. */
export const MODULES = [
  { specifier: "hookbox", file: "packages/sdk/mod.ts" },
  { specifier: "@hookbox/testing", file: "packages/testing/mod.ts" },
];

/** Renders docs/sdk.md, formatted, and lists what it lacks. @throws {Error} if deno cannot read or format */
export function renderReference(): { page: string; missing: string[] } {
  const files = MODULES.map(({ file }) => fileURLToPath(new URL(file, ROOT)));
  const parts = readParts(files.map((file, at) => ({ file, specifier: MODULES[at]?.specifier ?? "" })));
  const short = (filename: string) => relative(fileURLToPath(ROOT), fileURLToPath(filename));
  const missing = complaints(parts.map(({ symbols }) => symbols), short);
  return { page: formatted(renderPage(TITLE, NOTE, parts)), missing };
}

/** Reads the modules that a page describes. @param modules files as absolute paths */
export function readParts(modules: readonly { specifier: string; file: string }[]): Part[] {
  const exported = readExports(modules.map(({ file }) => file));
  return modules.map(({ specifier, file }, at) => ({
    specifier,
    comment: parseModuleComment(readFileSync(file, "utf8")),
    symbols: exported[at] ?? [],
  }));
}

/** Formats Markdown as `npm run fmt` would. @throws {Error} with what deno says */
export function formatted(markdown: string): string {
  const { status, stdout, stderr } = spawnSync("deno", ["fmt", "--ext", "md", "-"], {
    cwd: fileURLToPath(ROOT),
    input: markdown,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Cannot format the page: deno fmt ended with ${status}\n${stderr}`);
  return stdout;
}
