/** `hookbox url`: prints the URL of a port of a sandbox. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { durationMs, wholeNumber } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

const MORE = `
With a router it prints an address and ends; the router has to know sandboxes by host or path ($HOOKBOX_ROUTER_DOMAIN or
$HOOKBOX_ROUTER_PATH_PREFIX, as its --domain or --path-routing-prefix). Without one the port is forwarded to this machine
until Ctrl-C.

Examples:
  hookbox url session 3000
  hookbox url session 3000 --signed-for 1h     lets in everybody who has the address

To sign an address, set $HOOKBOX_SIGNING_SECRET to a secret of the router, or $HOOKBOX_SIGNING_KEY to an Ed25519 private
key in PEM and $HOOKBOX_SIGNING_KEY_ID to the name by which the router knows its public key.`;

export function urlCommand(context: CommandContext): Command {
  const command = new Command("url")
    .description("Print the address of a port of a sandbox")
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("<port>", "which port")
    .option("--signed-for <time>", "anyone with the address can use it without a token, for this long")
    .addHelpText("after", MORE)
    .action(async (name: string, port: string) => {
      const options = optionsOf<{ signedFor?: string }>(command);
      const { signedFor } = options;
      const number = wholeNumber("port", port, 1, 65535);
      const signedForMs = signedFor === undefined ? undefined : durationMs("--signed-for", signedFor);
      const { runURL } = await import("../url.ts");
      await runURL(context, options, { name, port: number, path: "", signedForMs, browse: false });
    });
  return withRouter(command);
}
