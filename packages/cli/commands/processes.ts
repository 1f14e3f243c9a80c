/** `hookbox keeper|binder|router|runtime|serve`: runs a process of hookbox with its own arguments. @module */
import { Command } from "commander";
import process from "node:process";
import { helpOf } from "../../process/flaghelp.ts";
import type { CommandContext } from "../commandcontext.ts";
import { PROGRAMS } from "../programs.ts";

/** A command that runs another process, which has its own options. */
interface Becoming {
  name: keyof typeof PROGRAMS;
  description: string;
  /** Usage text in the help of the command. */
  usage?: string;
  /** Imports the main module, which runs when it is loaded. */
  load: () => Promise<unknown>;
}

/** Creates the command. All arguments after its name belong to the process, including `--help`. */
function becoming(context: CommandContext, { name, description, usage = "[options]", load }: Becoming): Command {
  return new Command(name)
    .description(description)
    .usage(usage)
    .argument("[args...]")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      if (!args.some((arg) => arg === "--help" || arg === "-h")) return await become(args, load);
      context.stdout.write(helpOf({ ...await PROGRAMS[name](), name: `${context.program} ${name}` }));
    });
}

/** Runs the process, which ends itself. */
async function become(args: string[], load: () => Promise<unknown>): Promise<void> {
  process.argv.splice(2, Infinity, ...args);
  // In Deno, main modules read their arguments from here.
  const { Deno: deno } = globalThis as { Deno?: object };
  if (deno) Object.defineProperty(deno, "args", { value: args });
  await load();
  await new Promise(() => {});
}

export function keeperCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "keeper",
    description: "Run the keeper: expiry, Events, metrics; and the binder with it",
    load: () => import("../../keeper/main.ts"),
  });
}

export function binderCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "binder",
    description: "Run the binder apart from the keeper: it gives claims their Sandboxes",
    load: () => import("../../binder/main.ts"),
  });
}

export function routerCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "router",
    description: "Run the router: HTTP access to sandboxes",
    load: () => import("../../router/main.ts"),
  });
}

export function runtimeCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "runtime",
    description: "Run the runtime, the process inside a sandbox",
    load: () => import("../../runtime/main.ts"),
  });
}

export function serveCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "serve",
    description: "Run the hooks that Metacontroller calls",
    usage: "[hook…] [options]",
    load: () => import("../../../hooks/serve.ts"),
  });
}
