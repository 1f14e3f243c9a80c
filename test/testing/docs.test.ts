/** The examples of docs/testing.md, as they stand there. Their tests are tests of this file. @module */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as vitest from "vitest";
import * as hookbox from "../../packages/sdk/mod.ts";
import * as testing from "../../packages/testing/mod.ts";
import { hurry } from "../hurry.ts";

const FENCE = /^```(ts|yaml) (\S+)\n([\s\S]*?)^```$/gm;
const IMPORT = /^import (\{[^}]*\}) from "([^"]+)";$/gm;
const MODULES: Record<string, object> = { vitest, hookbox, "@hookbox/testing": testing };

const page = readFileSync(new URL("../../docs/testing.md", import.meta.url), "utf8");
const files = [...page.matchAll(FENCE)].map(([, type, name = "", text = ""]) => ({ type, name, text }));
const folder = mkdtempSync(join(tmpdir(), "hookbox-docs-"));
vitest.afterAll(() => rmSync(folder, { recursive: true }));
for (const { name, text } of files) writeFileSync(join(folder, name), text);

// The SDK looks for the cause of a wait after two seconds of real time.
vitest.beforeEach(() => hurry(20));

vitest.test("the page has its examples", () => {
  vitest.expect(files.map(({ name }) => name)).toEqual([
    "agent.test.ts",
    "inside.test.ts",
    "verbs.test.ts",
    "scenario.yaml",
    "scenario.test.ts",
  ]);
});

for (const { name, text } of files.filter(({ type }) => type === "ts")) {
  vitest.describe(name, () => {
    const body = text.replace(IMPORT, (_, names, from) => `const ${names} = modules[${JSON.stringify(from)}];`);
    const code = stripTypeScriptTypes(body).replaceAll("import.meta.url", "url");
    new Function("modules", "url", code)(MODULES, pathToFileURL(join(folder, name)).href);
  });
}
