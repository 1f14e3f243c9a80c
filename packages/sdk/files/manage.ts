/** Looks at, makes, moves and removes files and folders of a sandbox; opens none. @module */
import { FileNotFoundError, InvalidArgumentError } from "../errors.ts";
import { type CallOptions, parsed } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { type Disk, diskOf, diskSchema, entriesOf, type Entry, entryOf, listingSchema, statSchema } from "./entry.ts";
import { endpointPath } from "./paths.ts";
import { modeText } from "./write.ts";

/** Folders that are listed at once. */
const AT_ONCE = 8;

/** Lists a folder. Repeated as needed: it changes nothing. @throws as `Files.list` */
export async function listFolder(
  runtimeClient: RuntimeClient,
  path: string,
  { depth = 1, signal }: CallOptions & { depth?: number | undefined },
): Promise<Entry[]> {
  if (!(depth >= 1)) throw new InvalidArgumentError(`Cannot list ${quoted(path)}: depth ${depth} is below 1`);
  const all = await listOne(runtimeClient, path, signal);
  let level = all;
  for (let left = depth - 1; left > 0 && level.length > 0; left--) {
    const folders = level.filter(({ type }) => type === "directory");
    level = [];
    for (let at = 0; at < folders.length; at += AT_ONCE) {
      const some = folders.slice(at, at + AT_ONCE).map(({ path }) => listIfThere(runtimeClient, path, signal));
      for (const entries of await Promise.all(some)) level.push(...entries);
    }
    all.push(...level);
  }
  return depth === 1 ? all : all.sort((a, b) => inOrder(a.path, b.path));
}

async function listOne(runtimeClient: RuntimeClient, path: string, signal: AbortSignal | undefined): Promise<Entry[]> {
  const action = `list ${quoted(path)}`;
  const request = { signal, action, repeatable: true };
  const answer = await runtimeClient.request(endpointPath("files", path, { links: "true" }), request);
  if (answer.headers.get("Content-Type") !== "application/octet-stream") {
    return entriesOf(await parsed(listingSchema, answer, action, runtimeClient.object), path);
  }
  await answer.body?.cancel();
  throw new InvalidArgumentError(`Cannot ${action}: it is not a folder`, {
    object: runtimeClient.object,
    reason: "NO_FOLDER",
  });
}

/** A folder further down may be gone, or something else, a moment after it was listed. */
async function listIfThere(
  runtimeClient: RuntimeClient,
  path: string,
  signal: AbortSignal | undefined,
): Promise<Entry[]> {
  return await listOne(runtimeClient, path, signal).catch((error) => {
    if (error instanceof FileNotFoundError || error instanceof InvalidArgumentError) return [];
    throw error;
  });
}

/** A folder comes right before what is in it. */
function inOrder(a: string, b: string): number {
  const [left, right] = [a.replaceAll("/", "\0"), b.replaceAll("/", "\0")];
  return left < right ? -1 : 1;
}

/** Describes what is at a path. Repeated as needed: it changes nothing. @throws as `Files.stat` */
export async function describe(runtimeClient: RuntimeClient, path: string, { signal }: CallOptions): Promise<Entry> {
  const action = `look at ${quoted(path)}`;
  const answer = await runtimeClient.request(endpointPath("stat", path), { signal, action, repeatable: true });
  const found = await parsed(statSchema, answer, action, runtimeClient.object);
  return entryOf(found, found.path);
}

/** Tells whether something is at a path. Repeated as needed: it changes nothing. @throws as `Files.exists` */
export async function exists(runtimeClient: RuntimeClient, path: string, options: CallOptions): Promise<boolean> {
  return await describe(runtimeClient, path, options).then(() => true, (error) => {
    if (error instanceof FileNotFoundError) return false;
    throw error;
  });
}

/** Makes a folder. Repeated as needed: one that is there stays as it is. @throws as `Files.makeDir` */
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

/** Moves something. Not repeated once it may have arrived: the second time nothing would be there. @throws as `Files.rename` */
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

/** Removes something. Not repeated once it may have arrived: what somebody made there meanwhile would go. @throws as `Files.remove` */
export async function remove(
  runtimeClient: RuntimeClient,
  path: string,
  { recursive = false, signal }: CallOptions & { recursive?: boolean | undefined },
): Promise<void> {
  const url = endpointPath("files", path, { recursive: recursive ? "true" : undefined });
  const answer = await runtimeClient.request(url, { method: "DELETE", signal, action: `remove ${quoted(path)}` });
  await answer.body?.cancel();
}

/** Says how full the disk is. Repeated as needed: it changes nothing. */
export async function readDisk(runtimeClient: RuntimeClient, { signal }: CallOptions): Promise<Disk> {
  const action = "ask for the disk";
  const answer = await runtimeClient.request("/v1/disk", { signal, action, repeatable: true });
  return diskOf(await parsed(diskSchema, answer, action, runtimeClient.object));
}

function quoted(path: string): string {
  return JSON.stringify(path);
}
