/** `hookbox keeper|binder|router|egress|e2b|runtime|serve`: runs a process of hookbox with its own arguments. @module */
import process from "node:process";
import type { Command } from "commander";
import { helpOf } from "../../process/flaghelp.ts";
import type { Program } from "../../process/flags.ts";
import type { CommandContext } from "../commandcontext.ts";

/** Loads the options of a process. */
type LoadProgram = () => Promise<Program>;

/** The options of each process, by the name of its command. */
export const PROGRAMS = {
  serve: async () => (await import("../../../hooks/all.ts")).SERVE,
  keeper: async () => (await import("../../keeper/options.ts")).KEEPER,
  binder: async () => (await import("../../binder/options.ts")).BINDER,
  router: async () => (await import("../../router/options.ts")).ROUTER,
  egress: async () => (await import("../../egress/options.ts")).EGRESS,
  e2b: async () => (await import("../../e2b/options.ts")).E2B,
  runtime: async () => (await import("../../runtime/options.ts")).RUNTIME,
} satisfies Record<string, LoadProgram>;

type ProcessName = keyof typeof PROGRAMS;

/** Imports the main module of each process, which runs when it is loaded. */
const MAINS: Record<ProcessName, () => Promise<unknown>> = {
  serve: () => import("../../../hooks/serve.ts"),
  keeper: () => import("../../keeper/main.ts"),
  binder: () => import("../../binder/main.ts"),
  router: () => import("../../router/main.ts"),
  egress: () => import("../../egress/main.ts"),
  e2b: () => import("../../e2b/main.ts"),
  runtime: () => import("../../runtime/main.ts"),
};

/** Returns the definition of a command whose arguments all belong to the process, including `--help`. */
export function defineProcess(name: ProcessName): (command: Command, context: CommandContext) => void {
  return (command, context) => {
    command
      .usage(name === "serve" ? "[hook…] [options]" : "[options]")
      .argument("[args...]")
      .helpOption(false)
      .allowUnknownOption()
      .passThroughOptions()
      .action(async (args: string[]) => {
        if (!args.some((arg) => arg === "--help" || arg === "-h")) return await runProcess(args, MAINS[name]);
        context.stdout.write(helpOf({ ...await PROGRAMS[name](), name: `${context.program} ${name}` }));
      });
  };
}

/** Runs the process, which ends itself. */
async function runProcess(args: string[], main: () => Promise<unknown>): Promise<void> {
  process.argv.splice(2, Infinity, ...args);
  // In Deno, main modules read their arguments from here.
  const { Deno: deno } = globalThis as { Deno?: object };
  if (deno) Object.defineProperty(deno, "args", { value: args });
  await main();
  await new Promise(() => {});
}
