/** `hookbox url` and `hookbox open`: print or open the URL of a port or of the terminal of a sandbox. @module */
import { once } from "node:events";
import type { Command } from "commander";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { Failure } from "../failure.ts";
import { durationMs, optionsOf, wholeNumber, withRouter } from "../options.ts";
import { openSandbox } from "../sandbox.ts";

const URL_HELP = `
With a router, prints a URL and exits. The router needs --domain or --path-routing-prefix; set $HOOKBOX_ROUTER_DOMAIN or
$HOOKBOX_ROUTER_PATH_PREFIX to the same value. Without a router, forwards the port to this machine until Ctrl-C.

Examples:
  hookbox url session 3000
  hookbox url session 3000 --signed-for 1h     everybody who has the URL has access

To sign a URL, set $HOOKBOX_SIGNING_SECRET to a secret of the router, or $HOOKBOX_SIGNING_KEY to an Ed25519 private
key in PEM and $HOOKBOX_SIGNING_KEY_ID to the name by which the router knows its public key.`;

export function defineUrl(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("<port>", "number of the port")
    .option("--signed-for <time>", "put a token into the URL, which is valid for this time")
    .addHelpText("after", URL_HELP)
    .action(async (name: string, port: string) => {
      const options = optionsOf<{ signedFor?: string }>(command);
      const { signedFor } = options;
      const number = wholeNumber("port", port, 1, 65535);
      const signedForMs = signedFor === undefined ? undefined : durationMs("--signed-for", signedFor);
      await runURL(context, options, { name, port: number, path: "", signedForMs, browse: false });
    });
  withRouter(command);
}

/** The router's own page. Source: docs/router.md, "A terminal in the browser". */
const TERMINAL = { port: 8080, path: "/.hookbox/terminal/" };

const OPEN_HELP = `
Without a port, opens the router's page with a terminal. If there is no browser, prints the URL.`;

export function defineOpen(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("[port]", "number of the port (default: the terminal)")
    .option("--signed-for <time>", "put a token into the URL, which is valid for this time")
    .addHelpText("after", OPEN_HELP)
    .action(async (name: string, port: string | undefined) => {
      const options = optionsOf<{ signedFor?: string }>(command);
      const { signedFor } = options;
      const place = port === undefined ? TERMINAL : { port: wholeNumber("port", port, 1, 65535), path: "" };
      const signedForMs = signedFor === undefined ? undefined : durationMs("--signed-for", signedFor);
      if (port === undefined && !options.router && !context.env["HOOKBOX_ROUTER_URL"]) {
        throw new Failure(
          "Cannot open a terminal in the browser: the router serves its page, and no router is named",
          `Name it with --router or HOOKBOX_ROUTER_URL, or use this terminal: ${context.program} exec -it ${name}`,
        );
      }
      await runURL(context, options, { name, ...place, signedForMs, browse: true });
    });
  withRouter(command);
}

/** Options of `hookbox url` and `hookbox open`. */
interface URLRequest {
  name: string;
  port: number;
  /** Starts with a slash, or is empty. */
  path: string;
  /** Undefined: the URL contains no token. */
  signedForMs: number | undefined;
  /** Whether to open it in a browser, if there is one. */
  browse: boolean;
}

/** Prints or opens the URL. A forwarded port stays open until Ctrl-C, which then is not an error. */
async function runURL(context: CommandContext, where: ConnectionOptions, request: URLRequest): Promise<void> {
  const { name, port, path, signedForMs, browse } = request;
  const connection = await context.connect(where);
  const sandbox = await openSandbox(context, connection, name);
  const address = new URL(await sandbox.getUrl(port, { signedForMs, signal: context.signal }));
  if (path !== "") address.pathname = address.pathname.replace(/\/$/, "") + path;
  const url = path === "" && address.pathname === "/" && address.search === "" ? address.origin : address.href;
  if (!browse || !await context.browse(url)) context.stdout.write(`${url}\n`);
  else context.stderr.write(`Opened ${url}\n`);
  if (connection.way === "forward") await untilInterrupted(context, port);
  await sandbox.disconnect();
}

async function untilInterrupted({ signal, stderr }: CommandContext, port: number): Promise<void> {
  stderr.write(`Port ${port} is forwarded until Ctrl-C.\n`);
  // A listener alone does not keep the process running.
  const alive = setInterval(() => {}, 1 << 30);
  if (!signal.aborted) await once(signal, "abort");
  clearInterval(alive);
}
