/** Copies files and folders between this machine and a sandbox, telling how far it is. @module */
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { FileNotFoundError } from "../sdk/errors.ts";
import type { TransferProgress, Transferred } from "../sdk/files/transfer.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { openSandbox } from "./sandbox.ts";
import { Ended, Failure } from "./failure.ts";
import { sizeOf } from "./output/size.ts";
import type { RemotePlace } from "./place.ts";
import { spinning } from "./terminal/spinner.ts";
import type { Where, World } from "./world.ts";

/** Copies from this machine into a sandbox. @throws {Failure | SandboxError} */
export async function copyUp(world: World, where: Where, from: string, { sandbox: name, path }: RemotePlace) {
  const isStream = from === "-";
  if (!isStream) {
    await stat(from).catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`Cannot copy "${from}": ${error.code === "ENOENT" ? "there is no such file" : error.message}`);
    });
  }
  await withSandbox(world, where, name, async (sandbox) => {
    const { files } = sandbox;
    if (isStream) {
      if (path === "" || path.endsWith("/")) {
        throw new Failure("Cannot copy - into a folder: name the file that it becomes");
      }
      return await files.write(path, Readable.toWeb(world.stdin) as ReadableStream<Uint8Array>, {
        signal: world.signal,
      });
    }
    const isInto = path === "" || path.endsWith("/") || await isRemoteFolder(sandbox, path);
    const target = isInto ? `${path.replace(/\/+$/, "") || "."}/${basename(resolve(from))}` : path;
    await transferring(world, from, (onProgress) => {
      return files.upload(from, target, { signal: world.signal, onProgress });
    });
  });
}

/** Copies from a sandbox to this machine. @throws {Failure | SandboxError} */
export async function copyDown(world: World, where: Where, { sandbox: name, path }: RemotePlace, to: string) {
  await withSandbox(world, where, name, async ({ files }) => {
    if (to === "-") {
      const stream = await files.read(path, { format: "stream", signal: world.signal });
      for await (const chunk of stream) {
        world.stdout.write(chunk);
        await world.stdout.drained();
      }
      return;
    }
    const isInto = to.endsWith("/") || await stat(to).then((found) => found.isDirectory(), () => false);
    const last = path.replace(/\/+$/, "").split("/").at(-1) || name;
    const target = isInto ? join(to, last) : to;
    await transferring(world, `${name}:${path}`, (onProgress) => {
      return files.download(path === "" ? "/" : path, target, { signal: world.signal, onProgress });
    });
  });
}

async function withSandbox(world: World, where: Where, name: string, work: (sandbox: SandboxHandle) => Promise<void>) {
  const sandbox = await openSandbox(world, await world.enter(where), name);
  try {
    await work(sandbox);
  } finally {
    await sandbox.disconnect();
  }
}

async function isRemoteFolder({ files }: SandboxHandle, path: string): Promise<boolean> {
  try {
    return (await files.stat(path)).type === "directory";
  } catch (error) {
    if (error instanceof FileNotFoundError) return false;
    throw error;
  }
}

async function transferring(
  world: World,
  what: string,
  transfer: (onProgress: (progress: TransferProgress) => void) => Promise<Transferred>,
): Promise<void> {
  const { skipped } = await spinning(world, `Copying ${what}`, (spinner) => {
    return transfer(({ bytes, files, totalBytes }) => {
      const of = totalBytes === undefined ? "" : ` of ${sizeOf(totalBytes)}`;
      spinner.say(`Copying ${what}: ${sizeOf(bytes)}${of}, ${files} files`);
    });
  });
  for (const { path, reason } of skipped) world.stderr.write(`Left out ${path}: ${reason}\n`);
  if (skipped.length > 0) throw new Ended(1);
}
