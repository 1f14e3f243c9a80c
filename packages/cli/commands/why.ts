/** `hookbox why`: prints the root cause of the state of a claim, pool or Sandbox, and what to do. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import { Ended } from "../failure.ts";
import { formatOf, serialize } from "../output/print.ts";
import { hasColor } from "../terminal/paint.ts";
import { drawn } from "../terminal/plain.ts";
import type { CommandContext } from "../commandcontext.ts";

const MORE = `
A bare name is that of a claim, else of a Sandbox, else of a pool. The exit code is 1 if there is nothing of that name.

Examples:
  hookbox why session
  hookbox why pool/python`;

export function whyCommand(context: CommandContext): Command {
  const command = new Command("why")
    .description("Say why a claim, Sandbox, pool or template is not ready, and what to do")
    .argument("<name>", "its name, or claim/name, sandbox/name, pool/name, template/name")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE)
    .action(async (name: string) => {
      const options = optionsOf<{ output?: string }>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      const { runWhy } = await import("../why.ts");
      const { renderFinding } = await import("../output/finding.ts");
      const { api, namespace } = await context.reach(options);
      const finding = await runWhy(api, name, namespace, context.signal);
      const text = format === "json" || format === "yaml"
        ? await serialize(finding, format)
        : drawn(renderFinding(finding, { color: hasColor(context.stdout, context) }));
      context.stdout.write(text);
      if (finding.code === "NotFound") throw new Ended(1);
    });
  return withCluster(command);
}
