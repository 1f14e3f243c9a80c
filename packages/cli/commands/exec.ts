/** `hookbox exec`: runs a command in a sandbox, and exits with its exit code. @module */
import { constants } from "node:os";
import { Readable } from "node:stream";
import type { Command } from "commander";
import type { CommandOptions, RunOptions } from "../../sdk/commands/commands.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import type { CommandContext, ConnectionOptions, Input } from "../commandcontext.ts";
import { Ended, Interruption, UsageError } from "../failure.ts";
import { collect, durationMs, optionsOf, pairs, withRouter } from "../options.ts";
import { openSandbox } from "../sandbox.ts";

const MORE = `
A suspended sandbox is resumed first. The exit code is that of the command, 128 plus the number of the signal that ended
it, or 124 after --timeout. Put -- before the command, so that its options are not read as options of hookbox.

Examples:
  hookbox exec session -- python3 -c 'print(6 * 7)'
  hookbox exec -it session                     a shell
  tar c . | hookbox exec -i session -- tar x`;

export function defineExec(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("[command...]", "command to run (default with -it: a shell)");
  withProcessOptions(command)
    .option("-e, --env <key=value>", "environment variable; can be repeated", collect)
    .addHelpText("after", MORE)
    .action(async (name: string, words: string[]) => {
      const options = optionsOf<ProcessOptions & { env?: string[] }>(command);
      const request = { ...processRequestOf(context, words, options), env: pairs("--env", options.env ?? []) };
      await runExec(context, options, name, request);
    });
  withRouter(command);
}

const SSH_MORE = `
The same as "hookbox exec -it SANDBOX", without SSH: the sandbox needs no SSH server.`;

/** Defines the command for people who look for a shell. */
export function defineSsh(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("[command...]", "command to run (default: a shell)")
    .addHelpText("after", SSH_MORE)
    .action(async (name: string, words: string[]) => {
      const options = optionsOf(command);
      const isShell = words.length === 0;
      const request = processRequestOf(context, isShell && context.stdin.isTTY !== true ? ["/bin/sh"] : words, {
        stdin: true,
        tty: isShell && context.stdin.isTTY === true,
      });
      await runExec(context, options, name, request);
    });
  withRouter(command);
}

async function runExec(
  context: CommandContext,
  where: ConnectionOptions,
  name: string,
  request: ProcessRequest,
): Promise<void> {
  const sandbox = await openSandbox(context, await context.connect(where), name);
  try {
    const code = await runProcess(context, sandbox, request);
    if (code !== 0) throw new Ended(code);
  } finally {
    await sandbox.disconnect();
  }
}

/** Values of the options that say how to run a command, for `exec` and `run`. */
export interface ProcessOptions {
  stdin?: boolean;
  tty?: boolean;
  cwd?: string;
  user?: string;
  timeout?: string;
}

/** Adds the options that say how to run a command. */
export function withProcessOptions(command: Command): Command {
  return command
    .option("-i, --stdin", "pass the input of hookbox to the command")
    .option("-t, --tty", "run the command in a terminal")
    .option("-C, --cwd <folder>", "run the command in this folder of the sandbox")
    .option("-u, --user <name>", "run the command as this user of the sandbox, if the template allows it")
    .option("--timeout <time>", "kill the command after this time, and exit with code 124");
}

/**
 * Converts the options. If there is no terminal, it prints a note and uses none.
 *
 * @throws {UsageError} if one is invalid
 */
export function processRequestOf(
  { stdin, stderr }: CommandContext,
  command: string[],
  { stdin: wantsInput = false, tty: wantsTTY = false, cwd, user, timeout }: ProcessOptions,
): ProcessRequest {
  const isShell = command.length === 0;
  const hasTTY = stdin.isTTY === true;
  if (isShell && !wantsTTY) {
    throw new UsageError("Cannot run: no command is given. Put it after --, or use -it for a shell");
  }
  if (wantsTTY && !hasTTY) stderr.write("Cannot use -t: the input is not a terminal. The command runs without one.\n");
  const tty = wantsTTY && hasTTY;
  return {
    command: isShell && !tty ? ["/bin/sh"] : command,
    stdin: wantsInput,
    tty,
    cwd,
    user,
    timeoutMs: timeout === undefined ? undefined : durationMs("--timeout", timeout),
  };
}

/** How to run the command. */
interface ProcessRequest {
  /** Empty: a shell in a terminal. */
  command: string[];
  /** Whether the command gets the input of this process. */
  stdin: boolean;
  tty: boolean;
  cwd?: string | undefined;
  user?: string | undefined;
  env?: Record<string, string> | undefined;
  timeoutMs?: number | undefined;
}

/** Runs the command until its end. Returns its exit code; if a signal ended it, 128 plus the number of the signal. */
export async function runProcess(
  context: CommandContext,
  sandbox: SandboxHandle,
  request: ProcessRequest,
): Promise<number> {
  const { cwd, user, env, timeoutMs } = request;
  const options: CommandOptions = {
    signal: context.signal,
    user,
    ...cwd === undefined ? {} : { cwd },
    ...env === undefined ? {} : { env },
    ...timeoutMs === undefined ? {} : { timeoutMs },
  };
  return await (request.tty
    ? inTerminal(context, sandbox, request, options)
    : withStreams(context, sandbox, request, options));
}

async function withStreams(
  { stdin, stdout, stderr }: CommandContext,
  { commands }: SandboxHandle,
  request: ProcessRequest,
  options: CommandOptions,
): Promise<number> {
  const run: RunOptions = {
    ...options,
    ...request.stdin ? { stdin: Readable.toWeb(stdin) as ReadableStream<Uint8Array> } : {},
    onData: async (bytes, stream) => {
      const output = stream === "stdout" ? stdout : stderr;
      output.write(bytes);
      await output.drained();
    },
    // The output is only passed on, not kept.
    maxOutputLength: 0,
  };
  const { exitCode, signal } = await commands.run(request.command, run);
  return signal === undefined ? exitCode : 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}

async function inTerminal(
  context: CommandContext,
  { pty }: SandboxHandle,
  { command, env }: ProcessRequest,
  options: CommandOptions,
): Promise<number> {
  const { stdin, stdout } = context;
  const size = () => ({ cols: stdout.columns ?? 80, rows: stdout.rows ?? 24 });
  const terminal = await pty.create({
    ...options,
    ...size(),
    env: { TERM: context.env["TERM"] ?? "xterm-256color", ...env },
    ...command.length > 0 ? { command } : {},
    onData: async (bytes) => {
      stdout.write(bytes);
      await stdout.drained();
    },
  });
  return await withRawMode(stdin, async () => {
    let typing = Promise.resolve();
    const ignore = () => {};
    const onKey = (bytes: Uint8Array) => void (typing = typing.then(() => terminal.write(bytes)).catch(ignore));
    const onResize = () => void terminal.resize(size()).catch(ignore);
    stdin.on("data", onKey);
    stdout.stream?.on("resize", onResize);
    try {
      const { exitCode } = await terminal.wait();
      // A signal ended the shell.
      if (exitCode < 0) throw new Interruption(137);
      return exitCode;
    } finally {
      stdin.off("data", onKey);
      stdout.stream?.off("resize", onResize);
      stdin.pause();
    }
  });
}

/** Runs `work` with the terminal in raw mode, and restores the terminal afterwards, also after an error. */
async function withRawMode<T>(stdin: Input, work: () => Promise<T>): Promise<T> {
  stdin.setRawMode?.(true);
  try {
    return await work();
  } finally {
    stdin.setRawMode?.(false);
  }
}
