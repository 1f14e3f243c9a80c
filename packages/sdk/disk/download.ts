/** Downloads a file or folder of a sandbox to the local disk. @module */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bytePath, realPath } from "../../process/bytepaths.ts";
import { AuthorizationError, ConnectionError, InvalidArgumentError, SandboxError } from "../errors.ts";
import { endpointPath, type Entry, nameOf } from "../files/entry.ts";
import { describe } from "../files/manage.ts";
import { readChunks } from "../files/read.ts";
import { createTransferCount, type TransferOptions, type Transferred } from "../files/transfer.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { chunksOf } from "../runtime/streams.ts";
import { BadTarError, OutsideFolderError, partsOf, unpackInto, writeWhole } from "./unpack.ts";

/** Downloads it. @throws as `Files.download` */
export async function downloadPath(
  runtimeClient: RuntimeClient,
  remotePath: string,
  localPath: string,
  options: TransferOptions,
): Promise<Transferred> {
  const entry = await followed(runtimeClient, remotePath, options);
  const target = targetOf(remotePath, localPath, entry.type);
  if (entry.type === "directory") return await downloadFolder(runtimeClient, entry.path, target, options);
  if (entry.type === "file") return await downloadFile(runtimeClient, entry, target, options);
  throw new InvalidArgumentError(`Cannot download ${JSON.stringify(remotePath)}: it is neither a file nor a folder`, {
    object: runtimeClient.object,
  });
}

/**
 * Returns the path on this machine. If `localPath` ends with a slash, the name is taken from the caller's `remotePath`,
 * never from the sandbox's response.
 */
function targetOf(remotePath: string, localPath: string, type: Entry["type"]): string {
  if (!/[/\\]$/.test(localPath)) return localPath;
  const parts = partsOfName(remotePath);
  if (parts.length > 0 || type === "directory") return join(localPath, ...parts);
  throw noName(remotePath);
}

function partsOfName(remotePath: string): string[] {
  try {
    return partsOf(nameOf(remotePath));
  } catch (error) {
    if (error instanceof OutsideFolderError) throw noName(remotePath);
    throw error;
  }
}

function noName(remotePath: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Cannot download ${JSON.stringify(remotePath)} into a folder: its path ends with no name for it`,
  );
}

async function followed(runtimeClient: RuntimeClient, path: string, options: TransferOptions): Promise<Entry> {
  const entry = await describe(runtimeClient, path, options);
  if (entry.type !== "symlink") return entry;
  if (entry.target !== undefined) return await describe(runtimeClient, entry.target, options);
  throw new AuthorizationError(`Cannot download ${JSON.stringify(path)}: it leads out of the root`, {
    object: runtimeClient.object,
  });
}

/** Reads the file from the endpoint for single files, so that the download continues after a broken connection. */
async function downloadFile(
  runtimeClient: RuntimeClient,
  { path, size, mode, modifiedAt }: Entry,
  target: string,
  { onProgress, signal }: TransferOptions,
): Promise<Transferred> {
  const tally = createTransferCount(onProgress, size);
  await mkdir(bytePath(dirname(target)), { recursive: true });
  await writeWhole(target, tally.watch(readChunks(runtimeClient, path, { signal })), { mode, modifiedAt });
  tally.file();
  return tally.done;
}

async function downloadFolder(
  runtimeClient: RuntimeClient,
  path: string,
  localPath: string,
  { onProgress, filter, signal }: TransferOptions,
): Promise<Transferred> {
  const tally = createTransferCount(onProgress, undefined);
  const action = `download ${JSON.stringify(path)}`;
  const answer = await runtimeClient.request(endpointPath("archive", path), { signal, action, repeatable: true });
  try {
    await mkdir(bytePath(localPath), { recursive: true });
    await unpackInto(bodyOf(answer, runtimeClient, action, signal), {
      folder: await realPath(localPath),
      filter,
      tally,
    });
  } catch (error) {
    if (!(error instanceof BadTarError)) throw error;
    throw new SandboxError(`Cannot ${action}: ${error.message}`, {
      object: runtimeClient.object,
      reason: "BAD_ARCHIVE",
      cause: error,
    });
  }
  return tally.done;
}

async function* bodyOf(
  { body }: Response,
  { object }: RuntimeClient,
  action: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (!body) return;
  try {
    yield* chunksOf(body);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ConnectionError(`Cannot ${action} to its end: the connection broke`, { object, cause });
  }
}
