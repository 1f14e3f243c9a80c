/** The examples of README and docs/, and those of comments: they compile, and those that need no cluster run. @module */
import { execFile } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { commentsOf, type Example, examplesOf, exportsOf, moduleOf } from "../../../dev/docs/codeblocks.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Inside the checkout, where packages are found. */
mkdirSync(join(ROOT, ".hookbox"), { recursive: true });
const folder = mkdtempSync(join(ROOT, ".hookbox/examples-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What users import, and where it is in the checkout. */
const MODULES = { hookbox: "packages/sdk/mod.ts", "@hookbox/testing": "packages/testing/mod.ts" };
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

const known = {
  exports: new Map(
    Object.entries(MODULES).toReversed().flatMap(([specifier, file]) =>
      exportsOf(read(file)).map((name): [string, string] => [name, specifier])
    ),
  ),
  values: {
    sandbox: "Sandbox",
    terminal: 'Awaited<ReturnType<Sandbox["pty"]["create"]>>',
    client: "SandboxClient",
    cluster: "TestCluster",
  },
};
const entries = Object.fromEntries(Object.entries(MODULES).map(([specifier, file]) => [specifier, `../../${file}`]));
const pages = globSync(["README.md", "docs/*.md", "packages/*/README.md"], { cwd: ROOT }).sort();
const sources = globSync("packages/{sdk,testing}/**/*.ts", { cwd: ROOT, exclude: ["**/dist/**", "**/node_modules/**"] })
  .sort();
const examples = [
  ...pages.flatMap((page) => examplesOf(page, read(page))),
  ...sources.flatMap((source) => examplesOf(source, commentsOf(read(source)))),
];

function write(example: Example): string {
  const path = join(folder, `${example.file.replaceAll(/\W/g, "-")}-line-${example.line}.ts`);
  writeFileSync(path, moduleOf(example, entries, known));
  return path;
}

/** Resolves with what a program says, whether it succeeds or not. */
function outputOf(...args: string[]): Promise<string> {
  return promisify(execFile)(process.execPath, args, { cwd: ROOT }).then(
    ({ stdout, stderr }) => stdout + stderr,
    (error) => `${error.stdout}${error.stderr}` || String(error),
  );
}

test("all examples compile", async () => {
  const tsconfig = {
    extends: "../../tsconfig.json",
    // Examples name things for their readers, and leave them there.
    compilerOptions: { noUnusedLocals: false, noPropertyAccessFromIndexSignature: false },
    include: ["*.ts"],
    exclude: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  for (const example of examples) write(example);
  expect(examples.length).toBeGreaterThan(5);
  expect(await outputOf(join(ROOT, "node_modules/.bin/tsc"), "-p", folder, "--pretty", "false")).toBe("");
});

const running = examples.filter(({ treatment }) => treatment === "run");
test.for(running)("the example in $file, line $line, runs", async (example) => {
  await promisify(execFile)(process.execPath, [write(example)], { cwd: ROOT });
});

test("there are examples that run", () => {
  expect(running.length).toBeGreaterThan(0);
});
