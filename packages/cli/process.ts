/** Runs one command in a sandbox, with the streams or the terminal of this process. @module */
import { constants } from "node:os";
import { Readable } from "node:stream";
import type { CommandOptions, RunOptions } from "../sdk/commands/types.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { Interruption } from "./failure.ts";
import { withRawMode } from "./terminal/rawmode.ts";
import type { CommandContext } from "./commandcontext.ts";

/** How to run the command. */
export interface ProcessRequest {
  /** Empty: a shell in a terminal. */
  command: string[];
  /** Whether the command gets the input of this process. */
  stdin: boolean;
  tty: boolean;
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  timeoutMs?: number | undefined;
}

/** Runs the command until its end. Returns its exit code; if a signal ended it, 128 plus the number of the signal. */
export async function runProcess(
  context: CommandContext,
  sandbox: SandboxHandle,
  request: ProcessRequest,
): Promise<number> {
  const { cwd, env, timeoutMs } = request;
  const options: CommandOptions = {
    signal: context.signal,
    ...cwd === undefined ? {} : { cwd },
    ...env === undefined ? {} : { env },
    ...timeoutMs === undefined ? {} : { timeoutMs },
  };
  return await (request.tty
    ? onTerminal(context, sandbox, request, options)
    : plain(context, sandbox, request, options));
}

async function plain(
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

async function onTerminal(
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
