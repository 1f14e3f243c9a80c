/** `hookbox doctor`: checks what prevents hookbox from working in this cluster. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { Ended } from "../failure.ts";
import { formatOf } from "../output/print.ts";
import { createPaint } from "../terminal/paint.ts";
import { drawn } from "../terminal/plain.ts";
import type { CommandContext } from "../commandcontext.ts";

const MORE = `
Each line begins with ✓ (well), ! (works, but could be better, or cannot be seen) or ✗ (does not work), followed by what
to do about it. The exit code is 1 if there is a ✗.`;

export function doctorCommand(context: CommandContext): Command {
  const command = new Command("doctor")
    .description("Check the cluster: what keeps sandboxes from working?")
    .option("-o, --output <format>", "json")
    .addHelpText("after", MORE)
    .action(async () => {
      const options = optionsOf<{ output?: string }>(command);
      const format = formatOf(options.output, ["json"]);
      const { examine, renderDiagnosis } = await import("../doctor.ts");
      const cluster = await context.reach(options);
      const router = options.router ?? context.env["HOOKBOX_ROUTER_URL"];
      const paint = createPaint(context.stdout, context);
      const found = [];
      for await (const diagnosis of examine({ cluster, router, fetch: context.fetch, now: context.now() })) {
        context.signal.throwIfAborted();
        found.push(diagnosis);
        if (!format) context.stdout.write(drawn(renderDiagnosis(diagnosis, paint)));
      }
      if (format) context.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      if (found.some(({ mark }) => mark === "fail")) throw new Ended(1);
    });
  return withRouter(command);
}
