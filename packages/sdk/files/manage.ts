/** Lists, describes, creates, moves and deletes files and folders of a sandbox. @module */
import { AuthorizationError, FileNotFoundError, InvalidArgumentError, SandboxError } from "../errors.ts";
import { type CallOptions, parsed } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import {
  type Disk,
  diskOf,
  diskSchema,
  endpointPath,
  entriesOf,
  type Entry,
  entryOf,
  listingSchema,
  statSchema,
} from "./entry.ts";
import { modeText } from "./write.ts";

/** Number of folders that are listed at the same time. */
const AT_ONCE = 8;

/** Limits of a list with a depth. */
export interface ListLimits {
  /** Number of folders that are listed. */
  folders: number;
  entries: number;
  /** Total length of paths, names and symlink targets. */
  characters: number;
}

/** Names of the limits in error messages. */
const WORDS = { folders: "folders", entries: "entries", characters: "characters of names" } as const;

const MOST: ListLimits = { folders: 100_000, entries: 1_000_000, characters: 256 << 20 };

/** Lists a folder. The request is repeated if the connection breaks. @throws as `Files.list` */
export async function listFolder(
  runtimeClient: RuntimeClient,
  path: string,
  { depth = 1, limit = Infinity, signal }: CallOptions & { depth?: number | undefined; limit?: number | undefined },
  most: ListLimits = MOST,
): Promise<Entry[]> {
  if (!(depth >= 1)) throw new InvalidArgumentError(`Cannot list ${quoted(path)}: depth ${depth} is below 1`);
  if (!(limit >= 0)) throw new InvalidArgumentError(`Cannot list ${quoted(path)}: limit ${limit} is below 0`);
  const all = await listOne(runtimeClient, path, signal);
  if (depth === 1) return all.slice(0, limit);
  const found: ListLimits = { folders: 1, entries: all.length, characters: charactersOf(all) };
  let folders = foldersOf(all);
  for (let left = depth - 1; left > 0 && folders.length > 0; left--) {
    const below: string[] = [];
    for (let at = 0; at < folders.length && all.length < limit; at += AT_ONCE) {
      const some = folders.slice(at, at + AT_ONCE);
      found.folders += some.length;
      checkLimits(found, most, path, runtimeClient);
      for (const entries of await Promise.all(some.map((path) => listIfThere(runtimeClient, path, signal)))) {
        found.entries += entries.length;
        found.characters += charactersOf(entries);
        checkLimits(found, most, path, runtimeClient);
        // Not `push(...entries)`: the number of arguments of a call is limited.
        for (const entry of entries) all.push(entry);
        for (const folder of foldersOf(entries)) below.push(folder);
      }
    }
    folders = below;
  }
  return inOrder(all.slice(0, limit));
}

function foldersOf(entries: Entry[]): string[] {
  return entries.filter(({ type }) => type === "directory").map(({ path }) => path);
}

function charactersOf(entries: Entry[]): number {
  return entries.reduce((sum, { path, name, target = "" }) => sum + path.length + name.length + target.length, 0);
}

/** A sandbox may report endlessly many folders. @throws {@link SandboxError} if more was found than the limits allow */
function checkLimits(found: ListLimits, most: ListLimits, path: string, { object }: RuntimeClient): void {
  for (const what of Object.keys(WORDS) as (keyof ListLimits)[]) {
    if (found[what] <= most[what]) continue;
    const limit = `${most[what].toLocaleString("en-US")} ${WORDS[what]}`;
    throw new SandboxError(`Cannot list ${quoted(path)}: there are more than ${limit} in it`, {
      object,
      reason: "TOO_LONG",
      remedy: "List folders further down, or with a smaller `depth`.",
    });
  }
}

async function listOne(
  runtimeClient: RuntimeClient,
  path: string,
  signal: AbortSignal | undefined,
  query: { below?: "true" } = {},
): Promise<Entry[]> {
  const action = `list ${quoted(path)}`;
  const request = { signal, action, repeatable: true };
  const answer = await runtimeClient.request(endpointPath("files", path, { links: "true", ...query }), request);
  if (answer.headers.get("Content-Type") !== "application/octet-stream") {
    return entriesOf(await parsed(listingSchema, answer, action, runtimeClient.object), path);
  }
  await answer.body?.cancel();
  throw new InvalidArgumentError(`Cannot ${action}: it is not a folder`, {
    object: runtimeClient.object,
    reason: "NO_FOLDER",
  });
}

/**
 * Lists a subfolder. The list is empty if the folder was deleted or replaced since its parent was listed, if it may not
 * be read, or if it is a file system of the kernel.
 */
async function listIfThere(
  runtimeClient: RuntimeClient,
  path: string,
  signal: AbortSignal | undefined,
): Promise<Entry[]> {
  return await listOne(runtimeClient, path, signal, { below: "true" }).catch((error) => {
    if (error instanceof FileNotFoundError || error instanceof InvalidArgumentError) return [];
    if (error instanceof AuthorizationError && error.reason === "PERMISSION_DENIED") return [];
    throw error;
  });
}

/** Sorts entries so that each folder comes directly before its content. */
function inOrder(entries: Entry[]): Entry[] {
  const keyed = entries.map((entry) => ({ entry, key: entry.path.replaceAll("/", "\0") }));
  return keyed.sort((a, b) => a.key < b.key ? -1 : 1).map(({ entry }) => entry);
}

/** Describes what exists at a path. The request is repeated if the connection breaks. @throws as `Files.stat` */
export async function describe(runtimeClient: RuntimeClient, path: string, { signal }: CallOptions): Promise<Entry> {
  const action = `look at ${quoted(path)}`;
  const answer = await runtimeClient.request(endpointPath("stat", path), { signal, action, repeatable: true });
  const found = await parsed(statSchema, answer, action, runtimeClient.object);
  return entryOf(found, found.path);
}

/**
 * Returns whether something exists at a path. The request is repeated if the connection breaks.
 *
 * @throws as `Files.exists`
 */
export async function exists(runtimeClient: RuntimeClient, path: string, options: CallOptions): Promise<boolean> {
  return await describe(runtimeClient, path, options).then(() => true, (error) => {
    if (error instanceof FileNotFoundError) return false;
    throw error;
  });
}

/**
 * Creates a folder. The request is repeated if the connection breaks: an existing folder does not change.
 *
 * @throws as `Files.makeDir`
 */
export async function makeDir(
  runtimeClient: RuntimeClient,
  path: string,
  { mode, signal }: CallOptions & { mode?: number | undefined },
): Promise<boolean> {
  const request = { method: "PUT", signal, action: `make folder ${quoted(path)}`, repeatable: true };
  const answer = await runtimeClient.request(endpointPath("folders", path, { mode: modeText(mode) }), request);
  await answer.body?.cancel();
  return answer.status === 201;
}

/**
 * Moves a file or folder. Not repeated once the request may have arrived: after a successful move the source is
 * missing.
 *
 * @throws as `Files.rename`
 */
export async function rename(
  runtimeClient: RuntimeClient,
  from: string,
  to: string,
  { replace = false, signal }: CallOptions & { replace?: boolean | undefined },
): Promise<void> {
  const answer = await runtimeClient.request("/v1/rename", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ from, to, replace }),
    signal,
    action: `rename ${quoted(from)} to ${quoted(to)}`,
  });
  await answer.body?.cancel();
}

/**
 * Deletes a file or folder. Not repeated once the request may have arrived: it could delete a new file of that name.
 *
 * @throws as `Files.remove`
 */
export async function remove(
  runtimeClient: RuntimeClient,
  path: string,
  { recursive = false, signal }: CallOptions & { recursive?: boolean | undefined },
): Promise<void> {
  const url = endpointPath("files", path, { recursive: recursive ? "true" : undefined });
  const answer = await runtimeClient.request(url, { method: "DELETE", signal, action: `remove ${quoted(path)}` });
  await answer.body?.cancel();
}

/** Returns how full the disk is. The request is repeated if the connection breaks. */
export async function readDisk(runtimeClient: RuntimeClient, { signal }: CallOptions): Promise<Disk> {
  const action = "ask for the disk";
  const answer = await runtimeClient.request("/v1/disk", { signal, action, repeatable: true });
  return diskOf(await parsed(diskSchema, answer, action, runtimeClient.object));
}

function quoted(path: string): string {
  return JSON.stringify(path);
}
