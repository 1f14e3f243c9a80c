/** Compiles what ships and puts the files beside it that it reads. Writes nothing outside dist/. @module */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { dataFiles } from "./datafiles.ts";
import { missingFiles } from "./missingfiles.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DIST = join(ROOT, "dist");

interface Manifest {
  version: string;
  type: string;
  exports: Record<string, string | Record<string, string>>;
  bin?: Record<string, string>;
}

/**
 * Makes dist/ anew, the tree of the checkout in JavaScript: code that reads a file by a path relative to itself finds
 * it there, too. Returns how many modules and data files it wrote.
 *
 * @throws {Error} with the compiler's output if it does not compile, or if built code names a file that is not there
 */
export function build(): { modules: number; data: number } {
  rmSync(DIST, { recursive: true, force: true });
  compile();
  const data = dataFiles(ROOT);
  for (const file of data) {
    mkdirSync(dirname(join(DIST, file)), { recursive: true });
    cpSync(join(ROOT, file), join(DIST, file));
  }
  const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  // Built code looks for its version where the code of the checkout does: in the folder that is its root.
  writeFileSync(join(DIST, "package.json"), `${JSON.stringify({ type: manifest.type, version: manifest.version })}\n`);
  const programs = Object.values(manifest.bin ?? {});
  const entries = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === "string" ? [entry] : Object.values(entry)
  );
  const absent = [...programs, ...entries].filter((file) => !existsSync(join(ROOT, file)));
  refuse("package.json names", absent);
  refuse("built code reads", missingFiles(DIST));
  for (const program of new Set(programs)) makeExecutable(join(ROOT, program));
  return { modules: globSync("**/*.d.ts", { cwd: DIST }).length, data: data.length };
}

function compile(): void {
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Cannot build: tsc ended with ${status}\n${stdout}${stderr}`.trimEnd());
}

function refuse(who: string, missing: string[]): void {
  if (missing.length > 0) throw new Error(`Cannot build: ${who} what is not there\n  ${missing.join("\n  ")}`);
}

/** npm does the same where it installs; this is for who runs it from the checkout. */
function makeExecutable(path: string): void {
  if (!readFileSync(path, "utf8").startsWith("#!")) {
    throw new Error(`Cannot build ${path}: its source does not begin with #!/usr/bin/env node`);
  }
  chmodSync(path, 0o755);
}
