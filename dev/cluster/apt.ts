/** Installs Debian packages. The caller must check that this process may do so. @module */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";

/**
 * Installs packages. If this fails, updates the package lists and tries again. Returns apt-get's error message;
 * undefined: success.
 */
export function aptInstall(packages: readonly string[]): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]) => spawnSync("apt-get", args, { encoding: "utf8", env });
  const install = () => apt("install", "-y", "-qq", "--no-install-recommends", ...packages);
  if (install().status === 0) return undefined;
  apt("update", "-qq");
  const { status, stderr } = install();
  return status === 0 ? undefined : (stderr ?? "").trim().split("\n").at(-1) ?? "";
}

/**
 * Installs each package whose program does not exist yet.
 *
 * @param programs path of a program of each package, by the name of the package
 * @throws {Error} with apt-get's error message
 */
export function needPackages(programs: Readonly<Record<string, string>>): void {
  const missing = Object.entries(programs).flatMap(([name, path]) => existsSync(path) ? [] : [name]);
  const reason = missing.length > 0 ? aptInstall(missing) : undefined;
  if (reason !== undefined) throw new Error(`apt-get did not install ${missing.join(", ")}: ${reason}`);
}
