/** The whole command line: a table of contents over commands/. Starts nothing. @module */
import { Command } from "commander";
import { withCluster } from "./clusteroptions.ts";
import { getCommand } from "./commands/get.ts";
import type { World } from "./world.ts";

/** Makes one command; what it needs beyond this is imported when it runs. */
export type MakeCommand = (world: World) => Command;

const GROUPS: [heading: string, commands: MakeCommand[]][] = [
  ["Look:", [getCommand]],
];

/** Builds the program; its output goes to the world's streams, and it throws where Commander would end the process. */
export function buildProgram(world: World): Command {
  const program = new Command(world.program)
    .description("Sandboxes for AI agents on Kubernetes: make them, work in them, find out why they do not start.")
    .enablePositionalOptions()
    .usage("<command> [options]")
    .helpOption("-h, --help", "show help")
    .addHelpCommand(
      new Command("help").description("Show help for a command").argument("[command]").helpGroup("This command:"),
    )
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => world.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase())),
      getOutHelpWidth: () => world.stdout.columns ?? 100,
      getErrHelpWidth: () => world.stderr.columns ?? 100,
    })
    .exitOverride();
  for (const [heading, commands] of GROUPS) {
    for (const make of commands) {
      const command = make(world).helpGroup(heading);
      command.copyInheritedSettings(program);
      command.showHelpAfterError(`See "${world.program} ${command.name()} --help".`);
      program.addCommand(command);
    }
  }
  program.addHelpText(
    "after",
    `\nSee "${world.program} <command> --help". A cluster is found as kubectl finds it: by --kubeconfig, --context and -n, by
KUBECONFIG, by ~/.kube/config, or in a Pod by its ServiceAccount.`,
  );
  return hidden(withCluster(program));
}

/** The shared options may stand before the command, too; help shows them where they belong. */
function hidden(program: Command): Command {
  for (const option of program.options) option.hideHelp();
  return program;
}
