/** `hookbox completion`: prints a script for the completion of command lines in a shell. @module */
import { Argument, Command } from "commander";
import type { CommandContext } from "../commandcontext.ts";

const MORE = `
Names of sandboxes, pools, templates, namespaces and contexts are completed, too.

Examples:
  source <(hookbox completion bash)      in ~/.bashrc
  source <(hookbox completion zsh)       in ~/.zshrc
  hookbox completion fish | source       in ~/.config/fish/config.fish

For "kubectl hookbox": make a link to hookbox named kubectl_complete-hookbox, in a folder of PATH.`;

export function completionCommand(_context: CommandContext): Command {
  return new Command("completion")
    .description("Print a script for completion by bash, zsh or fish")
    .addArgument(new Argument("<shell>", "which one").choices(["bash", "zsh", "fish"]))
    .addHelpText("after", MORE)
    .action(async (shell: string) => {
      const { script } = await import("@bomb.sh/tab");
      script(shell, "hookbox", "hookbox");
    });
}

/** The command that such a script calls when the user presses Tab. */
export function completeCommand(context: CommandContext): Command {
  return new Command("complete")
    .description("Complete a command line")
    .argument("[words...]")
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const { complete } = await import("../completion/complete.ts");
      await complete(context, words);
    });
}
