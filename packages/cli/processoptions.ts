/** The options that say how a command runs in a sandbox, for `exec` and `run`. @module */
import type { Command } from "commander";
import { UsageError } from "./failure.ts";
import type { ProcessRequest } from "./process.ts";
import { durationMs } from "./values.ts";
import type { CommandContext } from "./commandcontext.ts";

/** What they say. */
export interface ProcessOptions {
  stdin?: boolean;
  tty?: boolean;
  cwd?: string;
  timeout?: string;
}

/** Adds them. */
export function withProcess(command: Command): Command {
  return command
    .option("-i, --stdin", "pass this command's input to it")
    .option("-t, --tty", "give it a terminal")
    .option("-C, --cwd <folder>", "run it in this folder of the sandbox")
    .option("--timeout <time>", "kill it after so long, and end with code 124");
}

/** Reads them; where there is no terminal it says so and does without. @throws {UsageError} if they make no sense */
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
