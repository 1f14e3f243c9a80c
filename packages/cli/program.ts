/** Assembles the command line from the files in commands/. @module */
import { Command } from "commander";
import manifest from "./package.json" with { type: "json" };
import { withCluster } from "./clusteroptions.ts";
import { binderCommand, keeperCommand, routerCommand, runtimeCommand, serveCommand } from "./commands/processes.ts";
import { completeCommand, completionCommand } from "./commands/completion.ts";
import { convertCommand } from "./commands/convert.ts";
import { cpCommand } from "./commands/cp.ts";
import { createCommand } from "./commands/create.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { execCommand } from "./commands/exec.ts";
import { getCommand } from "./commands/get.ts";
import { installCommand } from "./commands/install.ts";
import { logsCommand } from "./commands/logs.ts";
import { lsCommand } from "./commands/ls.ts";
import { manifestsCommand } from "./commands/manifests.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { openCommand } from "./commands/open.ts";
import { poolCommand } from "./commands/pool.ts";
import { replayCommand } from "./commands/replay.ts";
import { restartCommand, resumeCommand, suspendCommand } from "./commands/suspend.ts";
import { rmCommand } from "./commands/rm.ts";
import { runCommand } from "./commands/run.ts";
import { tokenCommand } from "./commands/token.ts";
import { topCommand } from "./commands/top.ts";
import { uninstallCommand } from "./commands/uninstall.ts";
import { urlCommand } from "./commands/url.ts";
import { whyCommand } from "./commands/why.ts";
import { Ended } from "./failure.ts";
import type { CommandContext } from "./commandcontext.ts";

/** Creates one command. Modules that only its action needs are imported when it runs. */
export type MakeCommand = (context: CommandContext) => Command;

const GROUPS: [heading: string, commands: MakeCommand[]][] = [
  ["Make:", [createCommand, runCommand, suspendCommand, resumeCommand, restartCommand, rmCommand]],
  ["Work inside:", [execCommand, cpCommand, lsCommand, urlCommand, openCommand, tokenCommand, mcpCommand]],
  ["Look:", [getCommand, whyCommand, logsCommand, topCommand, poolCommand]],
  ["Run hookbox:", [
    installCommand,
    uninstallCommand,
    manifestsCommand,
    convertCommand,
    serveCommand,
    keeperCommand,
    binderCommand,
    routerCommand,
    runtimeCommand,
    replayCommand,
    doctorCommand,
  ]],
];

/** Commands that accept the command line of another program after their own arguments. */
const RUNNING: MakeCommand[] = [createCommand, execCommand, runCommand];

/**
 * Builds the program. It writes to the streams of the context, and throws where Commander would end the process.
 *
 * @param completes false: without the commands for completion, because the completion library adds its own
 */
export function buildProgram(context: CommandContext, completes = true): Command {
  const program = new Command(context.program)
    .description("Sandboxes for AI agents on Kubernetes: make them, work in them, find out why they do not start.")
    .usage("<command> [options]")
    .enablePositionalOptions()
    .option("-V, --version", "show the version")
    .on("option:version", () => showVersion(context))
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpCommand(
      new Command("help").description("Show help for a command").argument("[command]").helpGroup("This command:"),
    )
    .addHelpText("after", moreOf(context));
  const add = (make: MakeCommand, heading: string) => {
    const command = make(context).helpGroup(heading);
    const hint = RUNNING.includes(make) ? "Put -- before the command that is to run. " : "";
    command.showHelpAfterError(`${hint}See "${context.program} ${command.name()} --help".`);
    program.addCommand(withContext(command, context), { hidden: make === completeCommand });
  };
  for (const [heading, commands] of GROUPS) for (const make of commands) add(make, heading);
  if (completes) { for (const make of [completionCommand, completeCommand]) add(make, "This command:"); }
  return withContext(hidden(withCluster(program)), context);
}

function moreOf({ program }: CommandContext): string {
  return `
See "${program} <command> --help". A cluster is found as kubectl finds it: by --kubeconfig, --context and -n, by
KUBECONFIG, by ~/.kube/config, or in a Pod by its ServiceAccount.`;
}

/** Makes Commander write to the context's streams, and throw instead of ending the process. */
function withContext(command: Command, context: CommandContext): Command {
  for (const inner of command.commands) withContext(inner, context);
  return command.exitOverride().configureOutput({
    writeOut: (text) =>
      context.stdout.write(text.replaceAll(/(?<!kubectl )\bhookbox (?=[a-z])/g, `${context.program} `)),
    writeErr: (text) => context.stderr.write(text),
    outputError: (text, write) => write(text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase())),
    getOutHelpWidth: () => context.stdout.columns ?? 100,
    getErrHelpWidth: () => context.stderr.columns ?? 100,
  });
}

function showVersion({ stdout }: CommandContext): never {
  stdout.write(`${manifest.version}\n`);
  throw new Ended(0);
}

/** Hides the shared options in the program's own help. They may precede the command, but its help lists them. */
function hidden(program: Command): Command {
  for (const option of program.options) if (option.long !== "--version") option.hideHelp();
  return program;
}
