/** `hookbox open`: opens a sandbox's terminal or one of its ports in the browser. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { Failure } from "../failure.ts";
import { durationMs, wholeNumber } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

/** The router's own page. Source: docs/router.md, "A terminal in the browser". */
const TERMINAL = { port: 8080, path: "/.hookbox/terminal/" };

const MORE = `
Without a port it is a page with a terminal, which the router serves. Where there is no browser the address is printed.`;

export function openCommand(context: CommandContext): Command {
  const command = new Command("open")
    .description("Open a sandbox's terminal, or a port of it, in the browser")
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("[port]", "which port (default: the terminal)")
    .option("--signed-for <time>", "anyone with the address can use it without a token, for this long")
    .addHelpText("after", MORE)
    .action(async (name: string, port: string | undefined) => {
      const options = optionsOf<{ signedFor?: string }>(command);
      const { signedFor } = options;
      const place = port === undefined ? TERMINAL : { port: wholeNumber("port", port, 1, 65535), path: "" };
      const signedForMs = signedFor === undefined ? undefined : durationMs("--signed-for", signedFor);
      if (port === undefined && !options.router && !context.env["HOOKBOX_ROUTER_URL"]) {
        throw new Failure(
          "Cannot open a terminal in the browser: its page is the router's, and none is named",
          `Name it with --router or HOOKBOX_ROUTER_URL, or use this terminal: ${context.program} exec -it ${name}`,
        );
      }
      const { runURL } = await import("../url.ts");
      await runURL(context, options, { name, ...place, signedForMs, browse: true });
    });
  return withRouter(command);
}
