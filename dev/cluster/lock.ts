/**
 * A lock between processes of this machine. It disappears together with its holder, so there are no stale locks to
 * remove. @module
 */
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Runs `action` while no other process runs an action under the same name.
 *
 * The lock is an abstract Unix socket (Linux). The kernel gives its name to one listener at a time, and frees it when
 * the process ends, for whatever reason.
 *
 * @param name any text that identifies what is locked, such as a path
 * @param onWait is called once if another process holds the lock
 */
export async function withLock<T>(
  name: string,
  action: () => Promise<T>,
  options: { onWait?: () => void; signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const address = `\0hookbox-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
  let server = await listen(address);
  if (!server) options.onWait?.();
  while (!server) {
    await sleep(100, undefined, { signal: options.signal });
    server = await listen(address);
  }
  try {
    return await action();
  } finally {
    server.close();
  }
}

function listen(address: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(address, () => {
      server.unref();
      resolve(server);
    });
  });
}
