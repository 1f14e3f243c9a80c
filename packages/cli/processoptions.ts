/** The options for running a command in a sandbox, for `exec` and `run`. @module */
import type { Command } from "commander";
import { UsageError } from "./failure.ts";
import type { ProcessRequest } from "./process.ts";
import { durationMs } from "./values.ts";
import type { CommandContext } from "./commandcontext.ts";

/** Values of these options. */
export interface ProcessOptions {
  stdin?: boolean;
  tty?: boolean;
  cwd?: string;
  timeout?: string;
}

/** Adds the options. */
export function withProcess(command: Command): Command {
  return command
    .option("-i, --stdin", "pass this command's input to it")
    .option("-t, --tty", "give it a terminal")
    .option("-C, --cwd <folder>", "run it in this folder of the sandbox")
    .option("--timeout <time>", "kill it after so long, and end with code 124");
}

/**
 * Converts the options. If there is no terminal, it prints a note and uses none.
 *
 * @throws {UsageError} if one is invalid
 */
export function processRequestOf(
  { stdin, stderr }: CommandContext,
  command: string[],
  { stdin: wantsInput = false, tty: wantsTTY = false, cwd, timeout }: ProcessOptions,
): ProcessRequest {
  const isShell = command.length === 0;
  const hasTTY = stdin.isTTY === true;
  if (isShell && !wantsTTY) throw new UsageError("Cannot run nothing: put a command after --, or use -it for a shell");
  if (wantsTTY && !hasTTY) stderr.write("Cannot use -t: the input is not a terminal. Going on without.\n");
  const tty = wantsTTY && hasTTY;
  return {
    command: isShell && !tty ? ["/bin/sh"] : command,
    stdin: wantsInput,
    tty,
    cwd,
    timeoutMs: timeout === undefined ? undefined : durationMs("--timeout", timeout),
  };
}
