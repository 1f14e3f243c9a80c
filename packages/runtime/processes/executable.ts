/** Finds the program that execvp(3) would run; it must not run it. @module */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { SpawnError } from "./command.ts";

/** What execvp(3) takes for an absent PATH. */
const DEFAULT_PATH = "/bin:/usr/bin";

/**
 * Returns the absolute path of the program `name`, looked for in `path` unless it has a slash.
 *
 * @throws {SpawnError} `not-found`, or `not-executable` if all that was found may not be run
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
