/**
 * `npm run soak -- e2b-latest`: runs the tests of E2B's SDKs with the newest published versions in place of the pinned
 * ones, and says what has broken. @module
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs, promisify } from "node:util";

const HELP = `Usage: npm run soak -- e2b-latest [files…] [options]

Copies the last commit of this checkout into a temporary folder, and installs the newest e2b, @e2b/code-interpreter,
@e2b/cli (npm) and e2b-code-interpreter (PyPI) there. Then it runs the tests of E2B's SDKs in the copy: the control API on
a cluster in memory, the protocol of the runtime, and the Python clients. As root on Linux, it also runs every method and
command on an installation by Helm. The tests that fail show what a new version has broken. A method that hookbox does
not know fails, too. The exit code is 1 if a test failed.

If you name files, only these run: test/e2b needs no cluster.

Options:
  --help   print this text
`;

const FILES = ["test/e2b", "test/runtime/envd", "test/runtime/interpreter", "test/clients/e2b", "test/clients/codeint"];
const INSTALLATION = ["test/node/deploy-helm.test.ts", "-t", "E2B's SDKs"];
const SDKS = ["e2b", "@e2b/code-interpreter"];
/** Names the package of the command line and its version. */
const COMMAND_LINE = "test/node/e2bcli.json";
const PYTHON_REQUIREMENTS = "test/clients/requirements-e2b.txt";
/** What the Python programs of the tests import. */
const PYTHON_PACKAGES = ["e2b-code-interpreter", "pandas", "matplotlib"];
const QUIET = ["--no-audit", "--no-fund", "--loglevel=error"];

/**
 * Runs it.
 *
 * @param args the arguments after `e2b-latest` @param root of the checkout
 * @returns the exit code
 * @throws {Error} if git, npm, python3 or pip fails
 */
export async function tryLatest(args: string[], root: string): Promise<number> {
  const { values, positionals } = parseArgs({ args, options: { help: { type: "boolean" } }, allowPositionals: true });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const progress = (line: string) => void process.stdout.write(`e2b-latest: ${line}\n`);
  const folder = mkdtempSync(join(tmpdir(), "hookbox-e2b-latest-"));
  // Some tests run as other users, who must be able to read the modules.
  chmodSync(folder, 0o755);
  const copy = join(folder, "hookbox");
  const run = async (program: string, ...rest: string[]) => await promisify(execFile)(program, rest, { cwd: copy });
  progress(`copying the last commit to ${copy}, and installing the newest versions …`);
  await promisify(execFile)("git", ["clone", "--quiet", root, copy]);
  await run("npm", "ci", ...QUIET);
  await run("npm", "install", "--save-exact", ...QUIET, ...SDKS.map((name) => `${name}@latest`));
  await updateCommandLine(copy);
  await updatePython(copy);
  const newest = versionsIn(copy);
  const versions = versionsIn(root).map((pinned, index) => `${pinned} -> ${newest[index]?.split(" ").at(-1)}`);
  for (const line of versions) progress(line);

  const isRoot = process.getuid?.() === 0;
  if (!isRoot && positionals.length === 0) progress("without root, there is no installation by Helm");
  const runs = positionals.length > 0 ? [positionals] : isRoot ? [FILES, INSTALLATION] : [FILES];
  const env = { ...process.env, CI: "1", ...isRoot ? { HOOKBOX_TEST_NODES: "real" } : {} };
  let failed = 0;
  for (const files of runs) {
    const child = spawn("npx", ["vitest", "run", ...files], { cwd: copy, env, stdio: "inherit" });
    const [code] = await once(child, "exit");
    if (code !== 0) failed++;
  }
  progress(failed === 0 ? "every test passes with the newest versions:" : "tests failed with the newest versions:");
  for (const line of versions) progress(line);
  return failed === 0 ? 0 : 1;
}

/** Writes the newest version of `@e2b/cli` into its manifest and lock file. */
async function updateCommandLine(copy: string): Promise<void> {
  const folder = join(copy, "node_modules/.cache/e2bcli");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(copy, COMMAND_LINE), join(folder, "package.json"));
  const names = Object.keys(JSON.parse(readFileSync(join(copy, COMMAND_LINE), "utf8")).dependencies);
  const options = ["--package-lock-only", "--ignore-scripts", "--save-exact", ...QUIET];
  const latest = names.map((name) => `${name}@latest`);
  await promisify(execFile)("npm", ["install", ...options, ...latest], { cwd: folder });
  copyFileSync(join(folder, "package.json"), join(copy, COMMAND_LINE));
  copyFileSync(join(folder, "package-lock.json"), join(copy, COMMAND_LINE.replace(".json", "-lock.json")));
}

/**
 * Writes the newest versions of the Python packages, with all that they need, into the requirements.
 *
 * @throws {Error} if `python3` is missing, or has no module venv
 */
async function updatePython(copy: string): Promise<void> {
  const folder = join(copy, "node_modules/.cache/python");
  const report = join(folder, "report.json");
  const options = ["--dry-run", "--ignore-installed", "--only-binary=:all:", "--quiet", "--report", report];
  await promisify(execFile)("python3", ["-m", "venv", folder]);
  await promisify(execFile)(join(folder, "bin/python"), ["-m", "pip", "install", ...options, ...PYTHON_PACKAGES]);
  const { install } = JSON.parse(readFileSync(report, "utf8")) as {
    install: { metadata: { name: string; version: string } }[];
  };
  const lines = install.map(({ metadata: { name, version } }) => `${name}==${version}\n`).sort();
  writeFileSync(join(copy, PYTHON_REQUIREMENTS), lines.join(""));
}

/** Returns the packages of E2B that a checkout uses, such as `npm e2b 2.51.0`. */
function versionsIn(checkout: string): string[] {
  const json = (file: string) => JSON.parse(readFileSync(join(checkout, file), "utf8"));
  const npm = { ...json("package.json").devDependencies, ...json(COMMAND_LINE).dependencies } as Record<string, string>;
  const ofNpm = Object.entries(npm).filter(([name]) => /^(e2b$|@e2b\/)/.test(name)).sort(([a], [b]) => a < b ? -1 : 1);
  const pip = readFileSync(join(checkout, PYTHON_REQUIREMENTS), "utf8");
  const ofPip = [...pip.matchAll(/^(e2b|e2b-code-interpreter)==(\S+)$/gm)].map((
    [, name = "", version = ""],
  ) => [name, version]);
  return [...ofNpm.map((one) => `npm ${one.join(" ")}`), ...ofPip.sort().map((one) => `PyPI ${one.join(" ")}`)];
}
