/** The package, packed and installed into a project of its own: once for all files of a run that want it. @module */
import { execFile } from "node:child_process";
import { existsSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inject } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Programs of this checkout. */
export const BIN = join(ROOT, "node_modules/.bin");

/** A project that has installed the package. */
export interface Project {
  folder: string;
  /** Where the package is in it. */
  installed: string;
  /** Runs a program there; resolves with all that it wrote. @throws {Error} if it fails */
  run(command: string, args: string[], env?: Record<string, string>): Promise<string>;
}

/** Returns the project; the first call packs and installs, which takes a while. */
export async function packedProject(): Promise<Project> {
  // It goes with the cluster of the run.
  const folder = join(dirname(inject("kubeconfig")), "consumer");
  const done = join(folder, "installed");
  const project: Project = {
    folder,
    installed: join(folder, "node_modules/hookbox"),
    async run(command, args, env = {}) {
      const { stdout, stderr } = await promisify(execFile)(command, args, {
        cwd: folder,
        env: { ...process.env, ...env },
      });
      return stdout + stderr;
    },
  };
  if (existsSync(done)) return project;
  mkdirSync(folder, { recursive: true });
  await promisify(execFile)("npm", ["pack", "--pack-destination", folder], { cwd: ROOT });
  const [tarball = ""] = globSync("*.tgz", { cwd: folder });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await project.run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", `./${tarball}`]);
  writeFileSync(done, "");
  return project;
}
