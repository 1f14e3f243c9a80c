/** What to run, and what execve(2) could not be told; it must not touch the system. @module */

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

/** Refuses an empty command and bytes that cannot be passed on. @throws {SpawnError} */
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
