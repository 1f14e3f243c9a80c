/** `hookbox suspend`, `hookbox resume`, `hookbox restart` and `hookbox extend`. @module */
import type { Command } from "commander";
import { untilOf } from "../../summary/age.ts";
import type { CommandContext } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { durationMs, optionsOf, withCluster } from "../options.ts";
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

const EXTEND_MORE = `
A sandbox is deleted when its time is over. "hookbox get claims -o wide" shows when, in column EXPIRES.

Examples:
  hookbox extend session 2h             two hours more than now
  hookbox extend session --from-now 8h  it ends in eight hours, or gets an end if it has none
  hookbox extend session --never        it has no end`;

export function defineExtend(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("[time]", "how much later it ends, such as 30m, 2h or 1d")
    .option("--from-now <time>", "end it after this time, counted from now")
    .option("--never", "remove its end")
    .addHelpText("after", EXTEND_MORE)
    .action(async (name: string, time: string | undefined) => {
      const options = optionsOf<{ fromNow?: string; never?: boolean }>(command);
      const { fromNow, never = false } = options;
      if ([time !== undefined, fromNow !== undefined, never].filter(Boolean).length !== 1) {
        throw new UsageError(`Cannot extend ${name}: use either a time such as 2h, --from-now or --never`);
      }
      const ms = durationMs(time === undefined ? "--from-now" : "time", time ?? fromNow ?? "1s");
      const { client } = await context.connect(options);
      const { signal } = context;
      const end = time === undefined
        ? await client.setTimeout(name, never ? null : ms, { signal })
        : await client.extendTimeout(name, ms, { signal });
      const words = end === undefined
        ? "never expires"
        : `expires in ${untilOf(end.toISOString(), context.now())}, at ${end.toISOString()}`;
      context.stdout.write(`${name} ${words}\n`);
    });
  withCluster(command);
}
