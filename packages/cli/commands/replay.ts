/** `hookbox replay`: sends recorded requests to the hooks of this version, and shows which decisions differ. @module */
import { Command } from "commander";
import { Ended } from "../failure.ts";
import { formatOf } from "../output/print.ts";
import { collect, wholeNumber } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

interface ReplayOptions {
  hook: string[];
  output?: string;
  kinds: string;
}

const MORE = `
Recordings are made by "hookbox serve --record DIR". Exit codes: 0 no decision differs, 1 some do, 2 it cannot be read.

Example:
  hookbox replay recordings/ --hook ./hooks/sandbox/hook.ts`;

export function replayCommand(context: CommandContext): Command {
  return new Command("replay")
    .description("Run recorded hook requests through this version: what is decided differently?")
    .argument("<paths...>", "recordings: files, or folders of them")
    .option("--hook <module>", "a module of a hook to run instead of this version's own; again for more", collect, [])
    .option("-o, --output <format>", "json")
    .option("--kinds <n>", "kinds of difference that are shown", "20")
    .addHelpText("after", MORE)
    .action(async (paths: string[], { hook, output, kinds }: ReplayOptions) => {
      const format = formatOf(output, ["json"]);
      const { runReplay } = await import("../replay/run.ts");
      const code = await runReplay({
        paths,
        hooks: hook,
        output: format === "json" ? "json" : "text",
        mostKinds: wholeNumber("--kinds", kinds),
        write: (text) => context.stdout.write(text),
        writeError: (text) => context.stderr.write(text),
      });
      if (code !== 0) throw new Ended(code);
    });
}
