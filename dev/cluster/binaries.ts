/** Finds the programs of the cluster, or builds them once into a cache folder outside the repository. @module */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { goBuild } from "./gobuild.ts";
import { withLock } from "./lock.ts";
import { programOnPath } from "./path.ts";
import { cacheKey, linkerFlags, type ProgramGroup, requiredVersion } from "./programs.ts";

export interface BuildOptions {
  progress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));

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
    folder: join(cacheFolder(), cacheKey({ module: group.module, goMod, goSum: goSum + source, flags, target })),
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
