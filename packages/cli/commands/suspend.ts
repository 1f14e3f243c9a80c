/** `hookbox suspend`, `hookbox resume` and `hookbox restart`. @module */
import type { Command } from "commander";
import type { CommandContext } from "../commandcontext.ts";
import { optionsOf, withCluster } from "../options.ts";
import { spinning } from "../terminal.ts";

export function defineSuspend(command: Command, context: CommandContext): void {
  defineMode(command, context, "suspend", "suspended");
}

export function defineResume(command: Command, context: CommandContext): void {
  defineMode(command, context, "resume", "resumed");
}

export function defineRestart(command: Command, context: CommandContext): void {
  defineMode(command, context, "restart", "restarted");
}

/** Defines a command that calls the method `verb` of the SDK's client for each sandbox. */
function defineMode(
  command: Command,
  context: CommandContext,
  verb: "suspend" | "resume" | "restart",
  done: string,
): void {
  command
    .argument("<sandboxes...>", "names of claims or Sandboxes")
    .action(async (names: string[]) => {
      const { client } = await context.connect(optionsOf(command));
      for (const name of new Set(names)) {
        await spinning(context, `Waiting for ${name}`, () => client[verb](name, { signal: context.signal }));
        context.stdout.write(`${name} ${done}\n`);
      }
    });
  withCluster(command);
}
