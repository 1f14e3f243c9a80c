/** `hookbox resume`. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import { spinning } from "../terminal/spinner.ts";
import type { CommandContext } from "../commandcontext.ts";

export function resumeCommand(context: CommandContext): Command {
  const command = new Command("resume")
    .description("Resume sandboxes, and wait until they are ready")
    .argument("<sandboxes...>", "names of claims or Sandboxes")
    .action(async (names: string[]) => {
      const { client } = await context.connect(optionsOf(command));
      for (const name of names) {
        await spinning(context, `Waiting for ${name}`, () => client.resume(name, { signal: context.signal }));
        context.stdout.write(`${name} resumed\n`);
      }
    });
  return withCluster(command);
}
