/** `hookbox cp`: copies files and folders between this machine and a sandbox. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { UsageError } from "../failure.ts";
import { remotePath } from "../remotepath.ts";
import type { CommandContext } from "../commandcontext.ts";

const MORE = `
A path of a sandbox is SANDBOX:PATH or NAMESPACE/SANDBOX:PATH; what is relative begins at the sandbox's root. As with cp,
what goes to a folder that is there goes into it. "-" is this command's input or output. Modes, times and symlinks are
kept; nothing is written outside of the target, whatever a sandbox sends.

Examples:
  hookbox cp ./project session:work/
  hookbox cp session:work/result.csv .
  hookbox cp session:work/result.csv - | head`;

export function cpCommand(context: CommandContext): Command {
  const command = new Command("cp")
    .description("Copy files and folders to and from a sandbox")
    .argument("<from>", "path, or sandbox:path")
    .argument("<to>", "sandbox:path, or path")
    .addHelpText("after", MORE)
    .action(async (from: string, to: string) => {
      const options = optionsOf(command);
      const [source, target] = [remotePath(from), remotePath(to)];
      if (source && target) throw new UsageError("Cannot copy between sandboxes: go by way of this machine");
      const remote = source ?? target;
      if (!remote) throw new UsageError(`Cannot copy "${from}" to "${to}": neither is SANDBOX:PATH`);
      const where = { ...options, ...remote.namespace ? { namespace: remote.namespace } : {} };
      const { copyDown, copyUp } = await import("../cp.ts");
      await (source ? copyDown(context, where, source, to) : copyUp(context, where, from, remote));
    });
  return withRouter(command);
}
