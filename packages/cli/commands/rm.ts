/** `hookbox rm`: deletes sandboxes with their Pods and volumes. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import { Ended, UsageError } from "../failure.ts";
import type { CommandContext } from "../commandcontext.ts";

interface RmOptions {
  all?: boolean;
  selector?: string;
  ignoreNotFound?: boolean;
}

const MORE = `
Volumes go, too. What waits in pools stays: scale the pool for that.`;

export function rmCommand(context: CommandContext): Command {
  const command = new Command("rm")
    .description("Delete sandboxes, with all they have")
    .argument("[sandboxes...]", "names of claims or Sandboxes")
    .option("--all", "all of this namespace")
    .option("-l, --selector <labels>", "those with these labels")
    .option("--ignore-not-found", "ignore missing sandboxes")
    .addHelpText("after", MORE)
    .action(async (names: string[]) => {
      const options = optionsOf<RmOptions>(command);
      const { all = false, selector: labelSelector, ignoreNotFound = false } = options;
      if ([names.length > 0, all, labelSelector !== undefined].filter(Boolean).length !== 1) {
        throw new UsageError("Cannot delete: say names, --all or -l, and one of them only");
      }
      const { client } = await context.connect(options);
      const { signal } = context;
      const wanted = [...new Set(names)];
      if (names.length === 0) {
        const list = client.list({ signal, ...labelSelector === undefined ? {} : { labelSelector } });
        for await (const { name, state } of list) if (state !== "Terminating") wanted.push(name);
        if (wanted.length === 0) return context.stderr.write("No sandboxes found.\n");
      }
      let isMissing = false;
      for (const name of wanted) {
        if (await client.kill(name, { signal })) context.stdout.write(`${name} deleted\n`);
        else if (names.length > 0 && !ignoreNotFound) {
          isMissing = true;
          context.stderr.write(`Cannot delete ${name}: there is neither a claim nor a Sandbox of that name\n`);
        }
      }
      if (isMissing) throw new Ended(1);
    });
  return withCluster(command);
}
