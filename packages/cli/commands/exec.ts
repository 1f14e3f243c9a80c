/** `hookbox exec`: runs a command in a sandbox, and exits with its exit code. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { Ended } from "../failure.ts";
import { type ProcessOptions, processRequestOf, withProcess } from "../processoptions.ts";
import { collect, pairs } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

const MORE = `
A suspended sandbox is woken first. The exit code is the command's own; 128 and its number if a signal ended it; 124 if
--timeout did. Put -- before the command, or its options are taken for this one's.

Examples:
  hookbox exec session -- python3 -c 'print(6 * 7)'
  hookbox exec -it session                     a shell
  tar c . | hookbox exec -i session -- tar x`;

export function execCommand(context: CommandContext): Command {
  const command = new Command("exec")
    .description("Run a command in a sandbox")
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("[command...]", "what to run (default with -it: a shell)");
  withProcess(command)
    .option("-e, --env <key=value>", "environment variable; again for more", collect)
    .addHelpText("after", MORE)
    .action(async (name: string, words: string[]) => {
      const options = optionsOf<ProcessOptions & { env?: string[] }>(command);
      const request = { ...processRequestOf(context, words, options), env: pairs("--env", options.env ?? []) };
      const { openSandbox } = await import("../sandbox.ts");
      const { runProcess } = await import("../process.ts");
      const sandbox = await openSandbox(context, await context.connect(options), name);
      try {
        const code = await runProcess(context, sandbox, request);
        if (code !== 0) throw new Ended(code);
      } finally {
        await sandbox.disconnect();
      }
    });
  return withRouter(command);
}
