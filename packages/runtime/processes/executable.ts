/** Finds the program that execvp(3) would run. @module */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { SpawnError } from "./command.ts";

/** The PATH that execvp(3) uses if the variable is not set. */
const DEFAULT_PATH = "/bin:/usr/bin";

/**
 * Returns the absolute path of a program. It is searched in `path`, unless the name contains a slash.
 *
 * @throws {SpawnError} `not-found`, or `not-executable` if programs of that name exist but must not be executed
 */
export async function findExecutable(name: string, cwd: string, path = DEFAULT_PATH): Promise<string> {
  const candidates = name.includes("/")
    ? [resolve(cwd, name)]
    : path.split(":").map((folder) => isAbsolute(folder) ? join(folder, name) : resolve(cwd, folder, name));
  let refused = false;
  for (const candidate of candidates) {
    const found = await look(candidate);
    if (found === "runs") return candidate;
    if (found === "refused") refused = true;
  }
  const quoted = JSON.stringify(name);
  if (refused) throw new SpawnError("not-executable", `Cannot run ${quoted}: permission denied`);
  throw new SpawnError("not-found", `Cannot run ${quoted}: not found`);
}

async function look(file: string): Promise<"runs" | "refused" | "missing"> {
  try {
    if (!(await stat(file)).isFile()) return "refused";
  } catch {
    return "missing";
  }
  try {
    await access(file, constants.X_OK);
    return "runs";
  } catch {
    return "refused";
  }
}
