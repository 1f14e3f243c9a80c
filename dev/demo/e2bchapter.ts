/** The chapter of the demo about E2B's SDKs: programs from E2B's quick start, unchanged. @module */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { type Chapter, hookbox, needing, ROOT, type Story } from "./stage.ts";
import { elapsed, held, note, output, typed } from "./terminal.ts";

const PROJECT = "demo-project";
/** In the checkout, so that Node finds the packages. Git ignores it. */
const FOLDER = join(ROOT, ".hookbox/demo-e2b");
const REQUIREMENTS = "dev/demo/requirements.txt";

const NODE = `import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create();
await sandbox.files.write("hello.txt", "hello from a file");
const command = await sandbox.commands.run("cat hello.txt");
const code = await sandbox.runCode("6 * 7");
console.log(command.stdout, code.text);
await sandbox.kill();
`;

const PYTHON = `from e2b_code_interpreter import Sandbox

with Sandbox.create() as sandbox:
    sandbox.files.write("hello.txt", "hello from a file")
    command = sandbox.commands.run("cat hello.txt")
    code = sandbox.run_code("6 * 7")
    print(command.stdout, code.text)
`;

const PRINTED = "hello from a file 42";

export const E2B_CHAPTER: Chapter = {
  title: "E2B's SDKs, unchanged: two variables and a key",
  play: needing(["containers", "e2b"], play),
};

async function play(story: Story): Promise<void> {
  const { stage, shell } = story;
  const { apiUrl, sandboxUrl } = await stage.parts.e2b();
  note("A project is a namespace with a pool, limits and API keys:");
  const image = await stage.parts.runtimeImage();
  const create = ["project", "create", PROJECT, "--image", image, "--size", "1"];
  const apiKey = (await hookbox(story, create, (command) => `export E2B_API_KEY=$(${command})`)).trim();
  await shell.show("-n", PROJECT, "wait", "--for=condition=Ready", "sandboxwarmpool/base", "--timeout=180s");
  typed(`export E2B_API_URL=${apiUrl} E2B_SANDBOX_URL=${sandboxUrl}`);
  const env = { ...process.env, E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl };
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });

  note("npm's packages e2b and @e2b/code-interpreter, as they are published:");
  await runProgram("node", process.execPath, "quickstart.mjs", NODE, env);
  const python = await preparePython();
  if (python instanceof Error) note(`The same in Python is left out: ${python.message}`);
  else await runProgram("python3", python, "quickstart.py", PYTHON, env);
  rmSync(FOLDER, { recursive: true, force: true });
  const left = await shell.show("-n", PROJECT, "get", "sandboxclaims");
  if (left.includes("True")) throw new Error("A sandbox is left");
  held("each sandbox was a claim in the project's namespace, and is gone");
}

async function runProgram(shown: string, program: string, file: string, text: string, env: NodeJS.ProcessEnv) {
  const path = join(FOLDER, file);
  writeFileSync(path, text);
  typed(`cat ${file}`);
  output(text);
  typed(`${shown} ${file}`);
  const begun = performance.now();
  const { stdout } = await promisify(execFile)(program, [path], { cwd: FOLDER, env });
  output(stdout);
  if (stdout.trim() !== PRINTED) throw new Error(`The program printed "${stdout}"`);
  held(`${file} ended after ${elapsed(begun)}: create, a file, a command, code, kill`);
}

const OLD_ENOUGH = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/** Makes an environment with the SDKs for Python, once for a checkout. @returns its Python, or why there is none */
async function preparePython(): Promise<string | Error> {
  const run = promisify(execFile);
  const folder = join(ROOT, ".hookbox/demo-python");
  const python = join(folder, "bin/python3");
  const mark = join(folder, "complete");
  const requirements = readFileSync(join(ROOT, REQUIREMENTS), "utf8");
  if (existsSync(mark) && readFileSync(mark, "utf8") === requirements) return python;
  const found = await run("python3", ["-c", OLD_ENOUGH]).catch(() => undefined);
  if (!found) return new Error("it needs Python 3.11 or later, with its module venv, as python3.");
  typed(`python3 -m venv .hookbox/demo-python && .hookbox/demo-python/bin/pip install -r ${REQUIREMENTS}`);
  try {
    rmSync(folder, { recursive: true, force: true });
    await run("python3", ["-m", "venv", folder]);
    const quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"];
    await run(python, ["-m", "pip", "install", ...quiet, "-r", REQUIREMENTS], { cwd: ROOT });
  } catch (error) {
    const why = (error as { stderr?: string }).stderr?.trim().split("\n").at(-1) ?? String(error);
    return new Error(`its packages cannot be installed (${why}).`);
  }
  writeFileSync(mark, requirements);
  return python;
}
