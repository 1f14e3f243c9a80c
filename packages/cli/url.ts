/** Prints or opens the URL of a port of a sandbox. @module */
import { once } from "node:events";
import { openSandbox } from "./sandbox.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

/** Options of `hookbox url` and `hookbox open`. */
export interface URLRequest {
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
export async function runURL(context: CommandContext, where: Where, request: URLRequest): Promise<void> {
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
  stderr.write(`Port ${port} is forwarded as long as this runs; Ctrl-C ends it.\n`);
  // A listener alone does not keep the process running.
  const alive = setInterval(() => {}, 1 << 30);
  if (!signal.aborted) await once(signal, "abort");
  clearInterval(alive);
}
