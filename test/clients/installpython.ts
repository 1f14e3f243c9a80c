/** Installs Debian's Python where there is none that serves and this process may. Chooses none. @module */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";

const PACKAGES = ["python3", "python3-venv"];

/** Returns why nothing was installed, with what would help; undefined: the packages are there now. */
export function installPython(progress: (line: string) => void): string | undefined {
  const help = `install ${PACKAGES.join(" and ")}`;
  if (!existsSync("/usr/bin/apt-get")) return `there is no apt-get here, so ${help}`;
  if (process.getuid?.() !== 0) return `apt-get needs root, so ${help}`;
  progress(`installing Debian packages for the Python client: ${PACKAGES.join(", ")} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]) => spawnSync("apt-get", args, { encoding: "utf8", env });
  const install = () => apt("install", "-y", "-qq", "--no-install-recommends", ...PACKAGES);
  if (install().status === 0) return undefined;
  apt("update", "-qq");
  const { status, stderr } = install();
  const reason = (stderr ?? "").trim().split("\n").at(-1) ?? "";
  return status === 0 ? undefined : `apt-get did not install ${PACKAGES.join(" and ")}: ${reason}`;
}
