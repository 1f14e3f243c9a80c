/** `hookbox run`: creates a sandbox for one command, and deletes it afterwards. @module */
import type { Command } from "commander";
import type { CommandContext } from "../commandcontext.ts";
import { Ended, UsageError } from "../failure.ts";
import { optionsOf, pairs, withRouter } from "../options.ts";
import { createSandbox } from "../sandbox.ts";
import { createOptionsOf, type SandboxOptions, withSandboxOptions } from "./create.ts";
import { type ProcessOptions, processRequestOf, runProcess, withProcessOptions } from "./exec.ts";

type RunOptions = SandboxOptions & ProcessOptions & { keep?: boolean };

const MORE = `
Ctrl-C kills the command and deletes the sandbox; a second Ctrl-C exits at once. With --timeout, the sandbox is deleted a
few minutes after that time even if hookbox no longer runs.

Examples:
  hookbox run --pool python -- python3 -c 'print(6 * 7)'
  hookbox run --pool python -it -- bash
  cat job.py | hookbox run --pool python -i -- python3 -`;

/**
 * Time from the time limit of the command until its sandbox is deleted, if this process cannot delete it. In
 * milliseconds.
 */
const GRACE_MS = 5 * 60_000;

export function defineRun(command: Command, context: CommandContext): void {
  command
    .argument("[command...]", "command to run (default with -it: a shell)");
  withProcessOptions(command).option("--keep", "keep the sandbox, and print its name");
  withSandboxOptions(command).addHelpText("after", MORE).action(async (words: string[]) => {
    const options = optionsOf<RunOptions>(command);
    if (options.idle !== undefined && !options.keep) {
      throw new UsageError("Cannot use --idle without --keep: the sandbox is deleted at the end");
    }
    // Environment variables of the command only; with variables of its own, the sandbox would start cold.
    const { env = [], ...ofSandbox } = options;
    const request = { ...processRequestOf(context, words, options), env: pairs("--env", env) };
    const { timeoutMs } = request;
    const lifetimeMs = timeoutMs === undefined || options.keep ? undefined : timeoutMs + GRACE_MS;
    const wanted = createOptionsOf(ofSandbox, lifetimeMs);
    const sandbox = await createSandbox(context, await context.connect(options), wanted);
    try {
      const code = await runProcess(context, sandbox, request);
      if (code !== 0) throw new Ended(code);
    } finally {
      if (options.keep) {
        context.stderr.write(`Kept: ${sandbox.name}\n`);
        await sandbox.disconnect();
      } else await sandbox.kill();
    }
  });
  withRouter(command);
}
