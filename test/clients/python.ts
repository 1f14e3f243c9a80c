/** A Python that has published packages: a virtual environment in the cache, made once. Talks to no cluster. @module */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../../dev/cluster/binaries.ts";
import { withLock } from "../../dev/cluster/lock.ts";
import { installPython } from "./installpython.ts";
import { modulePython } from "./modulepython.ts";

/** A Python of this machine. */
export interface BasePython {
  /** Path of the program itself, never of a shim. */
  executable: string;
  /** Major, minor, micro. */
  version: [number, number, number];
  /** Folder that it is installed in. */
  prefix: string;
  /** What can put pip into a virtual environment; undefined: nothing, as on Debian without a package of its own. */
  pip: "ensurepip" | "pip" | undefined;
}

/** The requirements were resolved for no later one than 3.14. */
const NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"];
const DEBIANS = "/usr/bin/python3";
const PROBE = `
import importlib.util, json, sys
print(json.dumps({
  "executable": sys.executable, "version": sys.version_info[:3], "prefix": sys.base_prefix,
  "pip": next(filter(importlib.util.find_spec, ["ensurepip", "pip"]), None) if importlib.util.find_spec("venv") else None,
}))`;

/** What is installed into an environment. */
export interface Packages {
  /** Part of the folder's name. */
  name: string;
  /** For people. */
  label: string;
  /** File that lists all packages, each with its version. */
  requirements: string;
  /** The oldest Python 3 that they run on. @default {11}, which the published client needs */
  atLeast?: number;
}

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export const CLIENT: Packages = {
  name: "pythonclient",
  label: "the published Python client",
  requirements: fileOf("requirements.txt"),
};

/** deepagents' backends for Agent Sandbox, and the client. */
export const DEEPAGENTS: Packages = {
  name: "deepagents",
  label: "deepagents' backends",
  requirements: fileOf("requirements-deepagents.txt"),
};

/** E2B's code interpreter, pandas and matplotlib. */
export const E2B: Packages = {
  name: "e2b",
  label: "E2B's code interpreter",
  requirements: fileOf("requirements-e2b.txt"),
};

/** An older one, which frameworks pin. */
export const OLD_E2B: Packages = {
  name: "e2b-2.31",
  label: "an older one of E2B's code interpreter",
  requirements: fileOf("requirements-e2b-2.31.txt"),
};

/** Finds the Python that has the published client, as {@link pythonWith} does. */
export function clientPython(progress: (line: string) => void): Promise<string> {
  return pythonWith(CLIENT, progress);
}

/**
 * Finds the Python that has these packages, making its environment on the first call on a machine.
 *
 * @returns path of the program
 * @throws {Error} one clear sentence if there is no Python that serves and none can be installed, or if pip fails
 */
export async function pythonWith(packages: Packages, progress: (line: string) => void): Promise<string> {
  const { name, label, requirements, atLeast = 11 } = packages;
  const base = await findPython(atLeast, progress);
  const folder = join(cacheFolder(), environmentName(readFileSync(requirements, "utf8"), base, name));
  const mark = join(folder, "complete");
  if (!existsSync(mark)) {
    const onWait = () => progress(`waiting for another run that installs ${label} …`);
    await withLock(`build ${folder}`, async () => {
      if (existsSync(mark)) return;
      progress(`installing ${label} into the cache (first run only) …`);
      await makeEnvironment(base, folder, packages);
      writeFileSync(mark, "");
    }, { onWait });
  }
  return join(folder, "bin", "python");
}

/** Names the cache folder of an environment: whatever changes what is installed, or for whom, changes the name. */
export function environmentName(
  requirements: string,
  { version, prefix }: BasePython,
  name: string = CLIENT.name,
): string {
  const hash = createHash("sha256");
  for (const part of [requirements, version.join("."), prefix, process.arch]) hash.update(`${part.length}:${part}`);
  return `${name}-${hash.digest("hex").slice(0, 16)}`;
}

/** Tells whether a Python 3 is new enough, and an environment can be made of it. */
export function serves({ version: [major, minor], pip }: BasePython, atLeast = 11): boolean {
  return major === 3 && minor >= atLeast && pip !== undefined;
}

async function findPython(atLeast: number, progress: (line: string) => void): Promise<BasePython> {
  const { PATH = "", HOME = "", PYENV_ROOT = join(HOME, ".pyenv") } = process.env;
  const inPath = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  // pyenv has no name in PATH for a version that is not chosen.
  const paths = [...inPath, ...globSync(join(PYENV_ROOT, "versions/3.*/bin/python3")).sort(), DEBIANS];
  const found = firstOf(paths.filter((path) => existsSync(path)), atLeast);
  if (found) return found;
  const failed = installPython(progress);
  const installed = firstOf([DEBIANS], atLeast);
  if (installed) return installed;
  const module = await modulePython(progress).catch((error: Error) => error);
  const unpacked = typeof module === "string" ? firstOf([module], atLeast) : undefined;
  if (unpacked) return unpacked;
  const why = [failed ?? `Debian's is older`, module instanceof Error ? module.message : "that of a Go module fails"];
  throw new Error(
    `Cannot run Python clients: they need Python 3.${atLeast} or later with its venv module; ${why.join("; ")}`,
  );
}

function firstOf(paths: string[], atLeast: number): BasePython | undefined {
  for (const path of paths) {
    const found = probe(path);
    if (found && serves(found, atLeast)) return found;
  }
  return undefined;
}

function probe(path: string): BasePython | undefined {
  const { status, stdout } = spawnSync(path, ["-I", "-c", PROBE], { encoding: "utf8", timeout: 60_000 });
  if (status !== 0) return undefined;
  const { pip, ...found } = JSON.parse(stdout);
  return { ...found, pip: pip ?? undefined };
}

async function makeEnvironment(base: BasePython, folder: string, { label, requirements }: Packages): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const python = join(folder, "bin", "python");
  const isBare = base.pip === "pip";
  await run(label, base.executable, ["-I", "-m", "venv", ...isBare ? ["--without-pip"] : [], folder]);
  const [program, target] = isBare ? [base.executable, ["--python", python]] : [python, []];
  const pip = (...args: string[]) => run(label, program, ["-I", "-m", "pip", "--no-input", ...target, ...args]);
  // Wheels alone, and nothing that is not listed: no code runs while installing.
  await pip("install", "--no-deps", "--only-binary=:all:", "-r", requirements);
  await pip("check");
}

function run(label: string, program: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const keep = (text: string) => output = (output + text).slice(-4000);
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) return resolve();
      const tail = output.trimEnd().split("\n").slice(-15).map((line) => `  ${line}`).join("\n");
      reject(
        new Error(`Cannot install ${label}: ${[program, ...args].join(" ")} ended with ${code}\n${tail}`),
      );
    });
  });
}
