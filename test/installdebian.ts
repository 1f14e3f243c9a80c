/** Installs Debian packages that tests need, where this process may. Looks for nothing. @module */
import { existsSync } from "node:fs";
import process from "node:process";
import { aptInstall } from "../dev/cluster/machine.ts";

/**
 * Installs packages; `what` says for the progress line what needs them.
 *
 * @returns why nothing was installed, with what would help; undefined: the packages are there now
 */
export function installDebian(
  packages: readonly string[],
  what: string,
  progress: (line: string) => void,
): string | undefined {
  const help = `install ${packages.join(" and ")}`;
  if (!existsSync("/usr/bin/apt-get")) return `there is no apt-get here, so ${help}`;
  if (process.getuid?.() !== 0) return `apt-get needs root, so ${help}`;
  progress(`installing Debian packages for ${what}: ${packages.join(", ")} …`);
  const reason = aptInstall(packages);
  return reason === undefined ? undefined : `apt-get did not install ${packages.join(" and ")}: ${reason}`;
}
