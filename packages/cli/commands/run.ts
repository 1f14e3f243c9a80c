/** `hookbox run`: creates a sandbox for one command, and deletes it afterwards. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { createOptionsOf, type SandboxOptions, withSandbox } from "../createoptions.ts";
import { Ended, UsageError } from "../failure.ts";
import { type ProcessOptions, processRequestOf, withProcess } from "../processoptions.ts";
import { pairs } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

type Options = SandboxOptions & ProcessOptions & { keep?: boolean };

const MORE = `
Ctrl-C kills the command and deletes the sandbox; a second one ends at once. With --timeout the sandbox itself ends a few
minutes after that, too, whatever becomes of this command.

Examples:
  hookbox run --pool python -- python3 -c 'print(6 * 7)'
  hookbox run --pool python -it -- bash
  cat job.py | hookbox run --pool python -i -- python3 -`;

/**
 * Time from the time limit of the command until its sandbox is deleted, if this process cannot delete it. In
 * milliseconds.
 */
const GRACE_MS = 5 * 60_000;

export function runCommand(context: CommandContext): Command {
  const command = new Command("run")
    .description("Make a sandbox, run one command in it, and delete it")
    .argument("[command...]", "what to run (default with -it: a shell)");
  withProcess(command).option("--keep", "do not delete the sandbox, and say its name");
  withSandbox(command).addHelpText("after", MORE).action(async (words: string[]) => {
    const options = optionsOf<Options>(command);
    if (options.idle !== undefined && !options.keep) {
      throw new UsageError("Cannot use --idle without --keep: the sandbox is deleted at the end");
    }
    // Environment variables of the command only; with variables of its own, the sandbox would start cold.
    const { env = [], ...ofSandbox } = options;
    const request = { ...processRequestOf(context, words, options), env: pairs("--env", env) };
    const { timeoutMs } = request;
    const lifetimeMs = timeoutMs === undefined || options.keep ? undefined : timeoutMs + GRACE_MS;
    const wanted = createOptionsOf(ofSandbox, lifetimeMs);
    const { createSandbox } = await import("../sandbox.ts");
    const { runProcess } = await import("../process.ts");
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
  return withRouter(command);
}
