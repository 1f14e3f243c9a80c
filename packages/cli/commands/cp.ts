/** `hookbox cp`: copies files and folders between this machine and a sandbox. @module */
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { Readable } from "node:stream";
import type { Command } from "commander";
import { FileNotFoundError } from "../../sdk/errors.ts";
import { joinPath } from "../../sdk/files/entry.ts";
import type { Files } from "../../sdk/files/files.ts";
import type { TransferProgress, Transferred } from "../../sdk/files/transfer.ts";
import type { UserOptions } from "../../sdk/runtime/call.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { Ended, Failure, UsageError } from "../failure.ts";
import { optionsOf, withRouter } from "../options.ts";
import { openSandbox } from "../sandbox.ts";
import { oneLine, spinning } from "../terminal.ts";

const MORE = `
A path in a sandbox is SANDBOX:PATH or NAMESPACE/SANDBOX:PATH. Relative paths start at the working directory of the
sandbox, and ~ is its home directory. If the target is an existing folder, the source is copied into it, as with cp. "-"
is this command's input or output. Modes, times and symlinks are kept. Nothing is written outside of the target, whatever
the sandbox sends. With --user, the copy has the rights of that user: it reads only what the user may read, and what it
writes in the sandbox belongs to the user.

Examples:
  hookbox cp ./project session:work/
  hookbox cp session:work/result.csv .
  hookbox cp session:work/result.csv - | head`;

export function defineCp(command: Command, context: CommandContext): void {
  command
    .argument("<from>", "path, or sandbox:path")
    .argument("<to>", "sandbox:path, or path")
    .option("-u, --user <name>", "copy as this user of the sandbox, if the template allows it")
    .addHelpText("after", MORE)
    .action(async (from: string, to: string) => {
      const options = optionsOf<{ user?: string }>(command);
      const [source, target] = [remotePath(from), remotePath(to)];
      if (source && target) throw new UsageError("Cannot copy between sandboxes: copy to this machine first");
      const remote = source ?? target;
      if (!remote) throw new UsageError(`Cannot copy "${from}" to "${to}": neither is SANDBOX:PATH`);
      const where = { ...options, ...remote.namespace ? { namespace: remote.namespace } : {} };
      await (source ? copyDown(context, where, source, to) : copyUp(context, where, from, remote));
    });
  withRouter(command);
}

/** Options of the connection, and the user of the sandbox. */
type Where = ConnectionOptions & { user?: string };

/** Copies from this machine to a sandbox. @throws {Failure | SandboxError} */
async function copyUp(
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
  const call = { signal: context.signal, user: where.user };
  await withSandbox(context, where, name, async ({ files }) => {
    if (isStream) {
      if (path === "" || path.endsWith("/")) {
        throw new Failure("Cannot copy - into a folder: name the target file");
      }
      return await files.write(path, Readable.toWeb(context.stdin) as ReadableStream<Uint8Array>, call);
    }
    const isInto = path === "" || path.endsWith("/") || await isRemoteFolder(files, path, call);
    const target = isInto ? joinPath(path, basename(resolve(from))) : path;
    await transferring(context, from, (onProgress) => {
      return files.upload(from, target, { ...call, onProgress });
    });
  });
}

/** Copies from a sandbox to this machine. @throws {Failure | SandboxError} */
async function copyDown(
  context: CommandContext,
  where: Where,
  { sandbox: name, path }: RemotePath,
  to: string,
) {
  const call = { signal: context.signal, user: where.user };
  await withSandbox(context, where, name, async ({ files }) => {
    if (to === "-") {
      const stream = await files.read(path, { ...call, format: "stream" });
      for await (const chunk of stream) {
        context.stdout.write(chunk);
        await context.stdout.drained();
      }
      return;
    }
    const isInto = to.endsWith("/") || await stat(to).then((found) => found.isDirectory(), () => false);
    // The SDK chooses the name inside a folder, and refuses "..". The working directory and / get the name of the sandbox.
    const into = /^\/*$/.test(path) ? join(to, name) : `${to}/`;
    const target = isInto ? into : to;
    await transferring(context, `${name}:${path}`, (onProgress) => {
      return files.download(path || ".", target, { ...call, onProgress });
    });
  });
}

async function withSandbox(
  context: CommandContext,
  where: ConnectionOptions,
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

async function isRemoteFolder(files: Files, path: string, options: UserOptions): Promise<boolean> {
  try {
    return (await files.stat(path, options)).type === "directory";
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
      spinner.setText(`Copying ${what}: ${sizeOf(bytes)}${of}, ${files} files`);
    });
  });
  for (const { path, reason } of skipped) context.stderr.write(`Skipped ${oneLine(path)}: ${oneLine(reason)}\n`);
  if (skipped.length > 0) throw new Ended(1);
}

/** A path in a sandbox. */
export interface RemotePath {
  /** Name of a claim or Sandbox. */
  sandbox: string;
  /** Undefined: the namespace from the options. */
  namespace: string | undefined;
  /** Empty: the working directory of the sandbox. */
  path: string;
}

/** Allows only Kubernetes names, so that `C:\\x` and `./a:b` are paths on this machine. */
const REMOTE = /^(?:([a-z0-9][-a-z0-9]*)\/)?([a-z0-9][-a-z0-9.]+):(.*)$/s;

/** Parses `sandbox:path` or `namespace/sandbox:path`; undefined for a path on this machine. */
function remotePath(text: string): RemotePath | undefined {
  const [, namespace, sandbox, path] = REMOTE.exec(text) ?? [];
  return sandbox === undefined || path === undefined ? undefined : { namespace, sandbox, path };
}

/** Parses the name of a sandbox, with or without a path. @throws {UsageError} if it is invalid */
export function sandboxPath(text: string): RemotePath {
  const remote = remotePath(text.includes(":") ? text : `${text}:`);
  if (remote) return remote;
  throw new UsageError(`Cannot list "${text}": it is not SANDBOX or SANDBOX:PATH`);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Formats bytes with about three digits: 512B, 1.5KiB, 23MiB. */
function sizeOf(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)}${UNITS[unit]}`;
}
