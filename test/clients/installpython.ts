/** Installs Debian's Python where there is none that serves and this process may. Chooses none. @module */
import { installDebian } from "../installdebian.ts";

/** Returns why nothing was installed, with what would help; undefined: the packages are there now. */
export function installPython(progress: (line: string) => void): string | undefined {
  return installDebian(["python3", "python3-venv"], "the Python client", progress);
}
