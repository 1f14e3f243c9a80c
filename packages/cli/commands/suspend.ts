/** `hookbox suspend` and `hookbox resume`. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import type { CommandContext } from "../commandcontext.ts";
import { spinning } from "../terminal/spinner.ts";

export function suspendCommand(context: CommandContext): Command {
  const command = new Command("suspend")
    .description("Suspend sandboxes: Pods go, names and volumes stay")
    .argument("<sandboxes...>", "names of claims or Sandboxes")
    .action(async (names: string[]) => {
      const { client } = await context.connect(optionsOf(command));
      for (const name of names) {
        await spinning(context, `Waiting for ${name}`, () => client.suspend(name, { signal: context.signal }));
        context.stdout.write(`${name} suspended\n`);
      }
    });
  return withCluster(command);
}

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
