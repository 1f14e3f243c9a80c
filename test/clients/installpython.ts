/** Installs Debian's Python where there is none that serves and this process may. Chooses none. @module */
import { existsSync } from "node:fs";
import process from "node:process";
import { aptInstall } from "../../dev/cluster/apt.ts";

const PACKAGES = ["python3", "python3-venv"];

/** Returns why nothing was installed, with what would help; undefined: the packages are there now. */
export function installPython(progress: (line: string) => void): string | undefined {
  const help = `install ${PACKAGES.join(" and ")}`;
  if (!existsSync("/usr/bin/apt-get")) return `there is no apt-get here, so ${help}`;
  if (process.getuid?.() !== 0) return `apt-get needs root, so ${help}`;
  progress(`installing Debian packages for the Python client: ${PACKAGES.join(", ")} …`);
  const reason = aptInstall(PACKAGES);
  return reason === undefined ? undefined : `apt-get did not install ${PACKAGES.join(" and ")}: ${reason}`;
}
