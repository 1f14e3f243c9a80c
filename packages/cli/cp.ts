/** Copies files and folders between this machine and a sandbox, and shows the progress. @module */
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { FileNotFoundError } from "../sdk/errors.ts";
import type { TransferProgress, Transferred } from "../sdk/files/transfer.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { openSandbox } from "./sandbox.ts";
import { Ended, Failure } from "./failure.ts";
import { sizeOf } from "./output/size.ts";
import type { RemotePath } from "./remotepath.ts";
import { oneLine } from "./terminal/plain.ts";
import { spinning } from "./terminal/spinner.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

/** Copies from this machine to a sandbox. @throws {Failure | SandboxError} */
export async function copyUp(
  context: CommandContext,
  where: Where,
  from: string,
  { sandbox: name, path }: RemotePath,
) {
  const isStream = from === "-";
  if (!isStream) {
    await stat(from).catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`Cannot copy "${from}": ${error.code === "ENOENT" ? "there is no such file" : error.message}`);
    });
  }
  await withSandbox(context, where, name, async (sandbox) => {
    const { files } = sandbox;
    if (isStream) {
      if (path === "" || path.endsWith("/")) {
        throw new Failure("Cannot copy - into a folder: name the file that it becomes");
      }
      return await files.write(path, Readable.toWeb(context.stdin) as ReadableStream<Uint8Array>, {
        signal: context.signal,
      });
    }
    const isInto = path === "" || path.endsWith("/") || await isRemoteFolder(sandbox, path);
    const target = isInto ? `${path.replace(/\/+$/, "") || "."}/${basename(resolve(from))}` : path;
    await transferring(context, from, (onProgress) => {
      return files.upload(from, target, { signal: context.signal, onProgress });
    });
  });
}

/** Copies from a sandbox to this machine. @throws {Failure | SandboxError} */
export async function copyDown(
  context: CommandContext,
  where: Where,
  { sandbox: name, path }: RemotePath,
  to: string,
) {
  await withSandbox(context, where, name, async ({ files }) => {
    if (to === "-") {
      const stream = await files.read(path, { format: "stream", signal: context.signal });
      for await (const chunk of stream) {
        context.stdout.write(chunk);
        await context.stdout.drained();
      }
      return;
    }
    const isInto = to.endsWith("/") || await stat(to).then((found) => found.isDirectory(), () => false);
    // The SDK chooses the name inside a folder, and refuses "..". The root gets the name of the sandbox.
    const into = /^\/*$/.test(path) ? join(to, name) : `${to}/`;
    const target = isInto ? into : to;
    await transferring(context, `${name}:${path}`, (onProgress) => {
      return files.download(path === "" ? "/" : path, target, { signal: context.signal, onProgress });
    });
  });
}

async function withSandbox(
  context: CommandContext,
  where: Where,
  name: string,
  work: (sandbox: SandboxHandle) => Promise<void>,
) {
  const sandbox = await openSandbox(context, await context.connect(where), name);
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
  context: CommandContext,
  what: string,
  transfer: (onProgress: (progress: TransferProgress) => void) => Promise<Transferred>,
): Promise<void> {
  const { skipped } = await spinning(context, `Copying ${what}`, (spinner) => {
    return transfer(({ bytes, files, totalBytes }) => {
      const of = totalBytes === undefined ? "" : ` of ${sizeOf(totalBytes)}`;
      spinner.say(`Copying ${what}: ${sizeOf(bytes)}${of}, ${files} files`);
    });
  });
  for (const { path, reason } of skipped) context.stderr.write(`Left out ${oneLine(path)}: ${oneLine(reason)}\n`);
  if (skipped.length > 0) throw new Ended(1);
}
