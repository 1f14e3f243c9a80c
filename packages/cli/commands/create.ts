/** `hookbox create`: creates a sandbox and prints its name. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { createOptionsOf, type SandboxOptions, withSandbox } from "../createoptions.ts";
import { UsageError } from "../failure.ts";
import { formatOf } from "../output/print.ts";
import { durationMs } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

interface Options extends SandboxOptions {
  output?: string;
  wait: boolean;
  keepFailed?: boolean;
}

const MORE = `
It prints the name and nothing else, for scripts. If the sandbox does not become ready, the command
deletes it and prints the cause.

Examples:
  box=$(hookbox create --pool python)
  hookbox create --template python --name session --timeout 8h --idle 10m
  hookbox create --image busybox:1.37 -- sleep infinity`;

export function createCommand(context: CommandContext): Command {
  const command = new Command("create")
    .description("Make a sandbox, and print its name when it is ready")
    .argument("[command...]", "what runs in it, with --image (default: the image's own)")
    .option("--timeout <time>", "delete it after so long, such as 30m or 8h")
    .option("--no-wait", "do not wait until it is ready")
    .option("--keep-failed", "leave it there if it does not become ready")
    .option("-o, --output <format>", "json, yaml or name");
  withSandbox(command).addHelpText("after", MORE).action(async (words: string[]) => {
    const options = optionsOf<Options>(command);
    const format = formatOf(options.output, ["json", "yaml", "name"]);
    const lifetimeMs = options.timeout === undefined ? undefined : durationMs("--timeout", options.timeout);
    const wanted = {
      ...createOptionsOf(options, lifetimeMs),
      ...words.length > 0 ? { command: words } : {},
      ...options.keepFailed ? { keepFailed: true } : {},
    };
    if (!options.wait && options.idle !== undefined && options.image === undefined) {
      throw new UsageError(
        "Cannot use --idle with --no-wait: the idle timeout is set after the sandbox has been created",
      );
    }
    const { runCreate } = await import("../create.ts");
    await runCreate(context, options, wanted, { wait: options.wait, format });
  });
  return withRouter(command);
}
