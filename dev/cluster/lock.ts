/** A lock between processes of this machine. It cannot outlive its holder, so there is no stale lock to remove. @module */
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Runs `action` while no other process runs one under the same name.
 *
 * The lock is an abstract Unix socket (Linux): the kernel gives its name to one listener at a time and takes it back
 * when the process ends, however it ends.
 *
 * @param name anything that names what is locked, such as a path
 * @param onWait called once if another process holds the lock
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
