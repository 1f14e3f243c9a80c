/** Starts a program as leader of a session and process group of its own; it must not read or limit its output. @module */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import process from "node:process";

/** What to run. `cwd` is absolute and already confined; `env` is what is added to the runtime's own environment. */
export interface Command {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
}

/** Why nothing was started; `invalid`: an empty command, or a NUL byte or `=` where none may be. */
export type SpawnErrorCode = "not-found" | "not-executable" | "bad-cwd" | "invalid" | "failed";

/** Nothing was started. */
export class SpawnError extends Error {
  readonly code: SpawnErrorCode;
  constructor(code: SpawnErrorCode, message: string) {
    super(message);
    this.name = "SpawnError";
    this.code = code;
  }
}

/** A process that has been started: `pid` is also the id of its group and of its session. */
export type Started = ChildProcess & { pid: number };

/**
 * Starts `command` without a shell and resolves once the program runs.
 *
 * @throws {SpawnError} if it does not
 */
export async function start(command: Command, stdio: StdioOptions): Promise<Started> {
  checkCommand(command);
  await checkCwd(command.cwd);
  const [file = "", ...args] = command.argv;
  return await new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(spawnError(file, error));
    try {
      // detached is setsid(2): signals to the negative pid then reach the children's children too.
      const child = spawn(file, args, {
        cwd: command.cwd,
        env: { ...process.env, ...command.env },
        stdio,
        detached: true,
      });
      child.once("error", fail);
      child.once("spawn", () => {
        child.off("error", fail);
        child.on("error", () => {});
        resolve(child as Started);
      });
    } catch (error) {
      fail(error as Error);
    }
  });
}

/** Refuses what execve(2) could not be told. @throws {SpawnError} */
export function checkCommand({ argv, env }: Command): void {
  if (!argv[0]) throw new SpawnError("invalid", "Cannot start a process: the command is empty");
  if (argv.some((part) => part.includes("\0"))) {
    throw new SpawnError("invalid", "Cannot start a process: the command has a NUL byte");
  }
  for (const [name, value] of Object.entries(env)) {
    if (!name || name.includes("=") || name.includes("\0") || value.includes("\0")) {
      throw new SpawnError(
        "invalid",
        `Cannot set variable ${JSON.stringify(name)}: it is empty or has "=" or a NUL byte`,
      );
    }
  }
}

/** A missing folder and a missing program are both ENOENT to spawn, so the folder is looked at first. */
async function checkCwd(cwd: string): Promise<void> {
  try {
    if ((await stat(cwd)).isDirectory()) return await access(cwd, constants.X_OK);
  } catch {
    // answered below
  }
  throw new SpawnError("bad-cwd", `Cannot run in ${JSON.stringify(cwd)}: it is not a folder that can be entered`);
}

function spawnError(file: string, error: Error): SpawnError {
  const code = "code" in error ? String(error.code) : "";
  const name = JSON.stringify(file);
  if (code === "ENOENT" || code === "ENOTDIR") return new SpawnError("not-found", `Cannot run ${name}: not found`);
  if (code === "EACCES" || code === "EPERM") {
    return new SpawnError("not-executable", `Cannot run ${name}: permission denied`);
  }
  return new SpawnError("failed", `Cannot run ${name}: ${code || error.message}`);
}
