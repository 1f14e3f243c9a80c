/** `hookbox rm`: deletes sandboxes with their Pods and volumes. @module */
import type { Command } from "commander";
import type { CommandContext } from "../commandcontext.ts";
import { Ended, UsageError } from "../failure.ts";
import { optionsOf, withCluster } from "../options.ts";

interface RmOptions {
  all?: boolean;
  selector?: string;
  ignoreNotFound?: boolean;
}

const MORE = `
Their volumes are deleted, too. Sandboxes of pools that no claim uses are kept: scale the pool to delete them.`;

export function defineRm(command: Command, context: CommandContext): void {
  command
    .argument("[sandboxes...]", "names of claims or Sandboxes")
    .option("--all", "all sandboxes of this namespace")
    .option("-l, --selector <labels>", "sandboxes with these labels")
    .option("--ignore-not-found", "ignore missing sandboxes")
    .addHelpText("after", MORE)
    .action(async (names: string[]) => {
      const options = optionsOf<RmOptions>(command);
      const { all = false, selector: labelSelector, ignoreNotFound = false } = options;
      if ([names.length > 0, all, labelSelector !== undefined].filter(Boolean).length !== 1) {
        throw new UsageError("Cannot delete: use either names, --all or -l");
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
  withCluster(command);
}
