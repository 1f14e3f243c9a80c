/**
 * `npm run docs`: writes docs/reference/ from the docstrings of exports, the CRDs, and the tables of options, and the
 * tables of docs/integrations.md from the results of tests. With `--check`, tells whether both are up to date.
 * @module
 */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CONVERSION } from "../../hooks/conversion/options.ts";
import { PROGRAMS } from "../../packages/cli/commands/processes.ts";
import { e2bPage } from "./e2b.ts";
import { integrationsPage, rowsIn } from "./integrations.ts";
import { apiPage, flagsPage, indexPage } from "./reference.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const REFERENCE = join(ROOT, "docs/reference");
const INTEGRATIONS = join(ROOT, "docs/integrations.md");
const E2B = join(ROOT, "docs/e2b.md");
const CRDS = ["sandboxes", "sandboxclaims", "sandboxtemplates", "sandboxwarmpools"];

const { check } = parseArgs({ options: { check: { type: "boolean", default: false } } }).values;
const folder = mkdtempSync(join(tmpdir(), "hookbox-docs-"));
try {
  const typedoc = join(dirname(createRequire(import.meta.url).resolve("typedoc/package.json")), "bin/typedoc");
  run(process.execPath, typedoc, "--options", join(HERE, "typedoc.json"), "--out", folder);
  const crds = CRDS.flatMap((plural) => globSync(`crds/*_${plural}.yaml`, { cwd: ROOT }));
  writeFileSync(join(folder, "kubernetes.md"), apiPage(crds.map((file) => readFileSync(join(ROOT, file), "utf8"))));
  const index = join(folder, "README.md");
  writeFileSync(index, indexPage(readFileSync(index, "utf8")));
  const programs = await Promise.all(Object.values(PROGRAMS).map((load) => load()));
  writeFileSync(join(folder, "flags.md"), flagsPage([...programs, CONVERSION]));
  run("deno", "fmt", "--quiet", "--line-width", "120", folder);
  settle("docs/reference/", sameFiles(folder, REFERENCE), () => {
    rmSync(REFERENCE, { recursive: true, force: true });
    cpSync(folder, REFERENCE, { recursive: true });
  });
  const page = readFileSync(INTEGRATIONS, "utf8");
  const file = join(folder, "integrations.md");
  writeFileSync(file, integrationsPage(page, rowsIn(join(ROOT, "test/consumers/matrix"))));
  run("deno", "fmt", "--quiet", "--line-width", "120", file);
  settle("docs/integrations.md", readFileSync(file, "utf8") === page, () => cpSync(file, INTEGRATIONS));
  const e2b = readFileSync(E2B, "utf8");
  const e2bFile = join(folder, "e2b.md");
  const [methods, python, commands] = ["methods", "methods-python", "commands"].map((name) =>
    JSON.parse(readFileSync(join(ROOT, `test/e2b/${name}.json`), "utf8"))
  );
  writeFileSync(e2bFile, e2bPage(e2b, methods, python, commands));
  run("deno", "fmt", "--quiet", "--line-width", "120", e2bFile);
  settle("docs/e2b.md", readFileSync(e2bFile, "utf8") === e2b, () => cpSync(e2bFile, E2B));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Writes what is stale, or reports it. */
function settle(name: string, isSame: boolean, write: () => void): void {
  if (!isSame && check) {
    process.stderr.write(`${name} is stale: run npm run docs\n`);
    process.exitCode = 1;
  } else {
    if (!isSame) write();
    if (!check) process.stdout.write(isSame ? `${name} is up to date\n` : `wrote ${name}\n`);
  }
}

/** Runs a program. @throws {Error} with the program's output, if it fails */
function run(command: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`Cannot write the reference: ${command} ended with ${status}\n${stdout}${stderr}`);
}

function sameFiles(one: string, other: string): boolean {
  const list = (at: string) => globSync("**/*.md", { cwd: at }).sort();
  const files = list(one);
  const isSame = (file: string) => readFileSync(join(one, file), "utf8") === readFileSync(join(other, file), "utf8");
  return files.join() === list(other).join() && files.every(isSame);
}
