/** Finds the address of a port of a sandbox, and prints or opens it. @module */
import { once } from "node:events";
import { openSandbox } from "./sandbox.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

/** Which address, and what becomes of it. */
export interface URLRequest {
  name: string;
  port: number;
  /** Begins with a slash, or is empty. */
  path: string;
  /** Undefined: the address alone lets nobody in. */
  signedForMs: number | undefined;
  /** Open it in a browser, where there is one. */
  browse: boolean;
}

/** Prints or opens it; what is forwarded stays so until Ctrl-C, which is then no failure. */
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
  // A listener alone keeps no process alive.
  const alive = setInterval(() => {}, 1 << 30);
  if (!signal.aborted) await once(signal, "abort");
  clearInterval(alive);
}
