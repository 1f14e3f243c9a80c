/** Searches the machine for installed programs of a compatible version. @module */
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

/** The arguments with which each program prints its version. Only these programs are taken from the PATH. */
const VERSION_ARGS: Record<string, string[]> = {
  "etcd": ["--version"],
  "kube-apiserver": ["--version"],
  "kubectl": ["version", "--client"],
};

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
