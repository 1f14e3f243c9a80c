/** `hookbox logs`: prints the logs of a sandbox's containers. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import type { LogsRequest } from "../logs.ts";
import type { CommandContext } from "../commandcontext.ts";

const MORE = `
What commands of "hookbox exec" and "hookbox run" print is not here: it goes to who started them.`;

export function logsCommand(context: CommandContext): Command {
  const command = new Command("logs")
    .description("Print what the containers of a sandbox print")
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .option("-f, --follow", "go on as more comes")
    .option("-c, --container <name>", "which container (default: the first)")
    .option("-p, --previous", "of the container before this one, after a crash")
    .option("--tail <lines>", "only the last lines")
    .option("--since <time>", "only from the last 30s, 5m, 1h")
    .option("--timestamps", "begin lines with the time")
    .addHelpText("after", MORE)
    .action(async (name: string) => {
      const { runLogs } = await import("../logs.ts");
      await runLogs(context, name, optionsOf<LogsRequest>(command));
    });
  return withCluster(command);
}
