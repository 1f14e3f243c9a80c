/** The command of a new process, and a check of its arguments. @module */

/** What to run. `cwd` is absolute and inside the root. `env` is added to the runtime's own environment. */
export interface Command {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
}

/**
 * Why no process was started. `invalid`: the command is empty, or contains a NUL byte or `=` where that is not allowed.
 */
export type SpawnErrorCode = "not-found" | "not-executable" | "bad-cwd" | "invalid" | "failed";

/** No process was started. */
export class SpawnError extends Error {
  readonly code: SpawnErrorCode;
  constructor(code: SpawnErrorCode, message: string) {
    super(message);
    this.name = "SpawnError";
    this.code = code;
  }
}

/** Checks that the command is not empty, and that the system can pass it on. @throws {SpawnError} */
export function checkCommand({ argv, env }: Command): void {
  if (!argv[0]) throw new SpawnError("invalid", "Cannot start a process: the command is empty");
  if (argv.some((part) => part.includes("\0"))) {
    throw new SpawnError("invalid", "Cannot start a process: the command has a NUL byte");
  }
  for (const [name, value] of Object.entries(env)) {
    if (!name || name.includes("=") || name.includes("\0") || value.includes("\0")) {
      const variable = JSON.stringify(name);
      throw new SpawnError(
        "invalid",
        `Cannot start a process: variable ${variable} has no name, or "=" in it, or a NUL byte`,
      );
    }
  }
}
