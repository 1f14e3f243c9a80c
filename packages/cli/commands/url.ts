/** `hookbox url` and `hookbox open`: print or open the URL of a port or of the terminal of a sandbox. @module */
import { once } from "node:events";
import type { Command } from "commander";
import { RUNTIME_PORT } from "../../api/router/protocol.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { Failure, UsageError } from "../failure.ts";
import { durationMs, optionsOf, wholeNumber, withRouter } from "../options.ts";
import { openSandbox } from "../sandbox.ts";

const URL_HELP = `
With a router, prints a URL and exits. The router needs --domain or --path-routing-prefix; set $HOOKBOX_ROUTER_DOMAIN or
$HOOKBOX_ROUTER_PATH_PREFIX to the same value. Without a router, forwards the port to this machine until Ctrl-C.

Examples:
  hookbox url session 3000
  hookbox url session 3000 --local-port 3000   forwards port 3000 of this machine
  hookbox url session 3000 --signed-for 1h     everybody who has the URL has access

To sign a URL, set $HOOKBOX_SIGNING_SECRET to a secret of the router, or $HOOKBOX_SIGNING_KEY to an Ed25519 private
key in PEM and $HOOKBOX_SIGNING_KEY_ID to the name by which the router knows its public key.`;

export function defineUrl(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("<port>", "number of the port")
    .option("--signed-for <time>", SIGNED_FOR)
    .option("--local-port <port>", LOCAL_PORT)
    .addHelpText("after", URL_HELP)
    .action(async (name: string, port: string) => {
      const options = optionsOf<URLFlags>(command);
      const number = wholeNumber("port", port, 1, 65535);
      await runURL(context, options, { name, port: number, path: "", browse: false });
    });
  withRouter(command);
}

/** The router's own page. Source: docs/router.md, "A terminal in the browser". */
const TERMINAL = { port: RUNTIME_PORT, path: "/.hookbox/terminal/" };

const OPEN_HELP = `
Without a port, opens the router's page with a terminal. If there is no browser, prints the URL.`;

export function defineOpen(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .argument("[port]", "number of the port (default: the terminal)")
    .option("--signed-for <time>", SIGNED_FOR)
    .option("--local-port <port>", LOCAL_PORT)
    .addHelpText("after", OPEN_HELP)
    .action(async (name: string, port: string | undefined) => {
      const options = optionsOf<URLFlags>(command);
      const place = port === undefined ? TERMINAL : { port: wholeNumber("port", port, 1, 65535), path: "" };
      if (port === undefined && !options.router && !context.env["HOOKBOX_ROUTER_URL"]) {
        throw new Failure(
          "Cannot open a terminal in the browser: the router serves its page, and no router is named",
          `Name it with --router or HOOKBOX_ROUTER_URL, or use this terminal: ${context.program} exec -it ${name}`,
        );
      }
      await runURL(context, options, { name, ...place, browse: true });
    });
  withRouter(command);
}

/** Options of `hookbox url` and `hookbox open`. */
interface URLFlags extends ConnectionOptions {
  signedFor?: string;
  localPort?: string;
}

const SIGNED_FOR = "put a token into the URL, which is valid for this time";
const LOCAL_PORT = "port on this machine, if there is no router (default: a free one)";

/** Which URL to show, and how. */
interface URLRequest {
  name: string;
  port: number;
  /** Starts with a slash, or is empty. */
  path: string;
  /** Whether to open it in a browser, if there is one. */
  browse: boolean;
}

/** Prints or opens the URL. A forwarded port stays open until Ctrl-C, which then is not an error. */
async function runURL(context: CommandContext, options: URLFlags, request: URLRequest): Promise<void> {
  const { name, port, path, browse } = request;
  const signedForMs = options.signedFor === undefined ? undefined : durationMs("--signed-for", options.signedFor);
  const localPort = options.localPort === undefined
    ? undefined
    : wholeNumber("--local-port", options.localPort, 1, 65535);
  const connection = await context.connect(options);
  if (localPort !== undefined && connection.way !== "forward") {
    throw new UsageError("Cannot use --local-port: with a router, no port is forwarded");
  }
  const sandbox = await openSandbox(context, connection, name);
  const address = new URL(
    await sandbox.getUrl(port, { signedForMs, localPort, signal: context.signal })
      .catch(portInUse(localPort, "--local-port")),
  );
  if (path !== "") address.pathname = address.pathname.replace(/\/$/, "") + path;
  const url = path === "" && address.pathname === "/" && address.search === "" ? address.origin : address.href;
  if (!browse || !await context.browse(url)) context.stdout.write(`${url}\n`);
  else context.stderr.write(`Opened ${url}\n`);
  if (connection.way === "forward") {
    context.stderr.write(`Port ${port} is forwarded until Ctrl-C.\n`);
    await untilInterrupted(context);
  }
  await sandbox.disconnect();
}

/** Explains why listening on a port has failed. @throws {Failure} if the port is in use, otherwise the error */
export function portInUse(port: number | undefined, option: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error;
    const why = error.code === "EACCES" ? "you may not use it" : "it is in use";
    throw new Failure(`Cannot listen on port ${port} of this machine: ${why}`, `Choose another one with ${option}.`);
  };
}

/** Resolves at Ctrl-C, which then is no error. */
export async function untilInterrupted({ signal }: CommandContext): Promise<void> {
  // A listener alone does not keep the process running.
  const alive = setInterval(() => {}, 1 << 30);
  if (!signal.aborted) await once(signal, "abort");
  clearInterval(alive);
}
