/** Finds the programs of the cluster, or builds them once into a cache folder outside the repository. @module */
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withLock } from "./lock.ts";
import { cacheKey, linkerFlags, type ProgramGroup, requiredVersion } from "./programs.ts";

interface BuildOptions {
  progress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** The arguments with which each program prints its version. Only these programs are taken from the PATH. */
const VERSION_ARGS: Record<string, string[]> = {
  "etcd": ["--version"],
  "kube-apiserver": ["--version"],
  "kubectl": ["version", "--client"],
};

interface GoBuild {
  title: string;
  /** Go package of each program, by program name. */
  packages: Record<string, string>;
  /** Module whose version the programs have; undefined: each has its own. */
  versionOf?: string | undefined;
  tags?: string | undefined;
  moduleFolder: string;
  /** Linker flags. */
  flags: string;
  /** An empty folder for the programs, under the names that Go gives them. */
  scratch: string;
}

/** Where builds are kept: `$XDG_CACHE_HOME/hookbox`, or `~/.cache/hookbox`. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "hookbox");
}

/**
 * Finds every program of a group, and builds those that are neither on this machine nor in the cache.
 *
 * @returns path of each program, by program name
 * @throws {Error} if a program has to be built and cannot be
 */
export async function findPrograms(group: ProgramGroup, options: BuildOptions): Promise<Record<string, string>> {
  const { folder, version, flags } = describeBuild(group);
  const found: Record<string, string> = {};
  const missing: Record<string, string> = {};
  for (const [name, goPackage] of Object.entries(group.packages)) {
    const own = programOnPath(name, version);
    if (own) options.progress(`using ${own}`);
    const path = own ?? join(folder, name);
    found[name] = path;
    if (!existsSync(path)) missing[name] = goPackage;
  }
  if (Object.keys(missing).length > 0) await buildMissing({ ...group, packages: missing }, { folder, flags }, options);
  return found;
}

function describeBuild(group: ProgramGroup) {
  const moduleFolder = join(HERE, group.module);
  const goMod = readFileSync(join(moduleFolder, "go.mod"), "utf8");
  const goSum = readFileSync(join(moduleFolder, "go.sum"), "utf8");
  const source = group.versionOf === undefined ? "" : readFileSync(join(moduleFolder, "main.go"), "utf8");
  const version = requiredVersion(readFileSync(join(HERE, "go.mod"), "utf8"), "k8s.io/kubernetes");
  const flags = linkerFlags(version);
  const target = `${process.platform}-${process.arch}`;
  return {
    folder: join(
      cacheFolder(),
      cacheKey({ module: group.module, goMod, goSum: goSum + source, flags: `${flags}${group.tags ?? ""}`, target }),
    ),
    version,
    flags,
  };
}

async function buildMissing(group: ProgramGroup, to: { folder: string; flags: string }, options: BuildOptions) {
  mkdirSync(to.folder, { recursive: true });
  const onWait = () => options.progress(`waiting for another run that builds ${group.title} …`);
  await withLock(`build ${cacheFolder()}`, async () => {
    const left = Object.entries(group.packages).filter(([name]) => !existsSync(join(to.folder, name)));
    if (left.length === 0) return;
    const scratch = mkdtempSync(join(to.folder, ".build-"));
    try {
      await goBuild(
        {
          title: group.title,
          packages: Object.fromEntries(left),
          versionOf: group.versionOf,
          tags: group.tags,
          moduleFolder: join(HERE, group.module),
          ...to,
          scratch,
        },
        options,
      );
      for (const [name, goPackage] of left) renameSync(join(scratch, executableName(goPackage)), join(to.folder, name));
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }, { onWait, signal: options.signal });
}

/** Returns what `go build` calls the program of a package: the last element that is not a major version. */
export function executableName(goPackage: string): string {
  return basename(goPackage.replace(/\/v\d+$/, ""));
}

/**
 * Finds etcd, kube-apiserver or kubectl in `$KUBEBUILDER_ASSETS`, otherwise one of a compatible version on the PATH.
 *
 * @param kubernetesVersion the version that hookbox would build itself, for example `v1.36.3`
 * @returns the path; undefined: hookbox must build the program
 */
export function programOnPath(name: string, kubernetesVersion: string, env = process.env): string | undefined {
  const args = VERSION_ARGS[name];
  if (!args) return undefined;
  const assets = env["KUBEBUILDER_ASSETS"];
  if (assets && isExecutable(join(assets, name))) return join(assets, name);
  const path = (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)).find(isExecutable);
  if (!path) return undefined;
  const { stdout } = spawnSync(path, args, { encoding: "utf8", timeout: 10_000, env });
  return versionFits(name, stdout ?? "", kubernetesVersion) ? path : undefined;
}

/**
 * etcd is compatible from 3.5 on. kube-apiserver and kubectl must have the same minor version, because others may not
 * work together.
 */
export function versionFits(name: string, versionOutput: string, kubernetesVersion: string): boolean {
  const found = /v?(\d+)\.(\d+)\.\d+/.exec(versionOutput);
  if (!found) return false;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  if (name === "etcd") return major === 3 && minor >= 5;
  return kubernetesVersion.startsWith(`v${major}.${minor}.`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Builds programs with the machine's Go.
 *
 * @throws {Error} one clear sentence, with the last lines of Go's output if there are any
 */
async function goBuild(build: GoBuild, { progress, signal }: BuildOptions): Promise<void> {
  const goMod = readFileSync(join(build.moduleFolder, "go.mod"), "utf8");
  const programs = Object.entries(build.packages).map(([name, path]) =>
    `${name} ${requiredVersion(goMod, build.versionOf ?? path)}`
  );
  progress(
    `building ${build.title}: ${
      programs.join(", ")
    } (first run only, some minutes; later runs find them in the cache) …`,
  );
  const start = Date.now();
  const minutes = () => `${((Date.now() - start) / 60_000).toFixed(1)} min`;
  const ticker = setInterval(() => progress(`still building ${build.title} (${minutes()}) …`), 30_000);
  try {
    await runGo(build, signal);
  } finally {
    clearInterval(ticker);
  }
  progress(`built ${build.title} in ${minutes()}`);
}

function runGo(build: GoBuild, signal: AbortSignal | undefined): Promise<void> {
  const args = [
    "build",
    "-trimpath",
    "-ldflags",
    build.flags,
    `-tags=${build.tags ?? ""}`,
    "-o",
    `${build.scratch}/`,
    ...Object.values(build.packages),
  ];
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" };
  const what = Object.keys(build.packages).join(", ");
  return new Promise((resolve, reject) => {
    const go = spawn("go", args, { cwd: build.moduleFolder, env, stdio: ["ignore", "ignore", "pipe"], signal });
    let output = "";
    go.stderr.setEncoding("utf8").on("data", (text: string) => output = (output + text).slice(-4000));
    go.on("error", (error: NodeJS.ErrnoException) => {
      const noGo = `Cannot build ${what}: there is no "go" command on the PATH; install Go 1.26.6 or later`;
      reject(error.code === "ENOENT" ? new Error(noGo) : error);
    });
    go.on("close", (code) => {
      if (code === 0) return resolve();
      const tail = output.trimEnd().split("\n").slice(-15).map((line) => `  ${line}`).join("\n");
      reject(new Error(`Cannot build ${what}: go build ended with ${code}\n${tail}`));
    });
  });
}
