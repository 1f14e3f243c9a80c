/** Finds the address of a port of a sandbox, and prints or opens it. @module */
import { once } from "node:events";
import { openSandbox } from "./sandbox.ts";
import type { Where, World } from "./world.ts";

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

/** Prints or opens it; what is forwarded stays so until the world is interrupted, which is then no failure. */
export async function runURL(world: World, where: Where, request: URLRequest): Promise<void> {
  const { name, port, path, signedForMs, browse } = request;
  const door = await world.enter(where);
  const sandbox = await openSandbox(world, door, name);
  const address = new URL(await sandbox.getUrl(port, { signedForMs, signal: world.signal }));
  if (path !== "") address.pathname = address.pathname.replace(/\/$/, "") + path;
  const url = path === "" && address.pathname === "/" && address.search === "" ? address.origin : address.href;
  if (!browse || !await world.browse(url)) world.stdout.write(`${url}\n`);
  else world.stderr.write(`Opened ${url}\n`);
  if (door.way === "forward") await untilInterrupted(world, port);
  await sandbox.disconnect();
}

async function untilInterrupted({ signal, stderr }: World, port: number): Promise<void> {
  stderr.write(`Port ${port} is forwarded as long as this runs; Ctrl-C ends it.\n`);
  // A listener alone keeps no process alive.
  const alive = setInterval(() => {}, 1 << 30);
  if (!signal.aborted) await once(signal, "abort");
  clearInterval(alive);
}
