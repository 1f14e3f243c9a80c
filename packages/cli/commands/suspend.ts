/** `hookbox suspend`, `hookbox resume` and `hookbox restart`. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import type { CommandContext } from "../commandcontext.ts";
import { spinning } from "../terminal/spinner.ts";

export function suspendCommand(context: CommandContext): Command {
  return modeCommand(context, "suspend", "Suspend sandboxes: Pods go, names and volumes stay", "suspended");
}

export function resumeCommand(context: CommandContext): Command {
  return modeCommand(context, "resume", "Resume sandboxes, and wait until they are ready", "resumed");
}

export function restartCommand(context: CommandContext): Command {
  const description = "Restart sandboxes: new Pods, from their specs as they are now";
  return modeCommand(context, "restart", description, "restarted");
}

function modeCommand(
  context: CommandContext,
  verb: "suspend" | "resume" | "restart",
  description: string,
  done: string,
): Command {
  const command = new Command(verb)
    .description(description)
    .argument("<sandboxes...>", "names of claims or Sandboxes")
    .action(async (names: string[]) => {
      const { client } = await context.connect(optionsOf(command));
      for (const name of new Set(names)) {
        await spinning(context, `Waiting for ${name}`, () => client[verb](name, { signal: context.signal }));
        context.stdout.write(`${name} ${done}\n`);
      }
    });
  return withCluster(command);
}
