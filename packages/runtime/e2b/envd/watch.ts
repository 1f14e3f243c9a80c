/** Watches of filesystem.Filesystem: as a stream, or as a watcher that a client asks for events. @module */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { randomUUID } from "node:crypto";
import { stat, statfs } from "node:fs/promises";
import { bytePath } from "../../../process/bytepaths.ts";
import {
  EventType,
  type Filesystem,
  type FilesystemEventSchema,
  type WatchDirRequest,
} from "../../../runtime-api/gen/e2b/filesystem_pb.ts";
import type { Root } from "../../confine.ts";
import { createKernelCheck, withFolder } from "../../files/folder.ts";
import { watchNames } from "../../files/watch.ts";
import { throwIfBrokenOff } from "../../rpc/lookup.ts";
import { MOST_KNOWN, readStates, within } from "../../rpc/watcher.ts";
import { type Change, changesBy, isMove, mayBeMove, moved, type WatchedFiles } from "./changes.ts";
import { describeEntry } from "./entry.ts";
import { notAFolder, withPath } from "./filesystem.ts";
import { keepaliveMs } from "./process.ts";

/** What the methods need. */
interface WatchOptions {
  root: Root;
  /** Aborts when the runtime begins to stop. */
  stop: AbortSignal;
}

type FilesystemEvent = MessageInitShape<typeof FilesystemEventSchema>;
type Request = Pick<WatchDirRequest, "path" | "recursive" | "includeEntry" | "allowNetworkMounts">;
type Methods = Pick<
  ServiceImpl<typeof Filesystem>,
  "watchDir" | "createWatcher" | "getWatcherEvents" | "removeWatcher"
>;

/** A watcher that a client asks for events. */
export interface Watcher {
  events: FilesystemEvent[];
  /** Why there are no more events. */
  failure: ConnectError | undefined;
  leaving: AbortController;
}

/** Number of watchers. With another one, the one that nobody has asked for the longest time ends. */
const MOST_WATCHERS = 64;
/** Number of events that wait until a client asks for them. */
const MOST_EVENTS = 4096;

/** Creates the methods. */
export function createWatches({ root, stop }: WatchOptions): Methods {
  // In the order in which clients have asked for them.
  const watchers = new Map<string, Watcher>();
  const end = (id: string) => {
    watchers.get(id)?.leaving.abort();
    return watchers.delete(id);
  };
  const find = (id: string): Watcher => {
    const watcher = watchers.get(id);
    if (!watcher) throw noWatcher(id);
    watchers.delete(id);
    watchers.set(id, watcher);
    return watcher;
  };
  return {
    watchDir: async function* (request, { signal: left, requestHeader }) {
      const signal = AbortSignal.any([left, stop]);
      const events = await watch(root, request, signal, keepaliveMs(requestHeader));
      yield { event: { case: "start" as const, value: {} } };
      for await (const event of events) {
        if (event === "quiet") yield { event: { case: "keepalive" as const, value: {} } };
        else yield { event: { case: "filesystem" as const, value: event } };
      }
      throwIfBrokenOff(left);
      if (stop.aborted) throw new ConnectError("the sandbox stops", Code.Unavailable);
    },
    createWatcher: async (request) => {
      const leaving = new AbortController();
      const signal = AbortSignal.any([leaving.signal, stop]);
      const watcher: Watcher = { events: [], failure: undefined, leaving };
      const events = await watch(root, request, signal, 60_000);
      const id = randomUUID();
      watchers.set(id, watcher);
      const [oldest] = watchers.keys();
      if (watchers.size > MOST_WATCHERS && oldest !== undefined) end(oldest);
      void gather(events, watcher);
      return { watcherId: id };
    },
    getWatcherEvents: ({ watcherId }) => {
      const { events, failure } = find(watcherId);
      if (events.length === 0 && failure) throw failure;
      return { events: events.splice(0) };
    },
    removeWatcher: ({ watcherId }) => {
      if (!end(watcherId)) throw noWatcher(watcherId);
      return {};
    },
  };
}

function noWatcher(id: string): ConnectError {
  return new ConnectError(`there is no watcher with id ${id}`, Code.NotFound);
}

/** Keeps the events of a watcher until a client asks for them, or until there are too many. */
export async function gather(events: AsyncGenerator<FilesystemEvent | "quiet">, watcher: Watcher): Promise<void> {
  try {
    for await (const event of events) {
      if (event === "quiet") continue;
      if (watcher.events.length >= MOST_EVENTS) throw lost();
      watcher.events.push(event);
    }
  } catch (error) {
    watcher.failure = ConnectError.from(error);
  }
}

/** Numbers by which statfs(2) names file systems of other machines: NFS, SMB, CIFS, FUSE, 9p, Ceph, AFS, Lustre, GFS2. */
const NETWORK_TYPES = new Set([
  ...[0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x00c36400, 0x5346414f, 0x0bd00bd0, 0x01161970],
]);

/**
 * Starts to watch a folder. Resolves when all later changes are reported.
 *
 * @throws {ConnectError} not_found; invalid_argument for something else than a folder, or on a network mount
 */
async function watch(
  root: Root,
  request: Request,
  signal: AbortSignal,
  quietMs: number,
): Promise<AsyncGenerator<FilesystemEvent | "quiet">> {
  const { path, recursive, allowNetworkMounts } = request;
  return await withPath(root, path, async (at) => {
    const { path: real, parts } = await root.locate(at);
    if (!(await stat(bytePath(real))).isDirectory()) throw notAFolder(path);
    const type = await statfs(bytePath(real)).then(({ type }) => type, () => 0);
    if (!allowNetworkMounts && NETWORK_TYPES.has(type)) {
      throw new ConnectError(`path is on a network mount: ${path}`, Code.InvalidArgument);
    }
    const names = await watchNames(root, at, { recursive, signal, aliveMs: quietMs });
    const files: WatchedFiles = { known: new Map(), vanished: new Set(), most: MOST_KNOWN };
    const reading = { known: files.known, recursive, isOfKernel: createKernelCheck() };
    await withFolder(root, { parts, wanted: path }, (folder) => readStates(reading, folder, ""));
    return events(root, { ...request, path: at }, names, files);
  });
}

/**
 * How long after the disappearance of a file its new name is waited for, in milliseconds. The system reports both at
 * once, so the longer time is for a busy machine, and for events that amount to nothing.
 */
const [RENAME_MS, BUSY_RENAME_MS] = [20, 2000];

/** @param request with an absolute path */
async function* events(
  root: Root,
  { path, includeEntry }: Request,
  names: Awaited<ReturnType<typeof watchNames>>,
  files: WatchedFiles,
): AsyncGenerator<FilesystemEvent | "quiet"> {
  const ask = () => {
    const asked = names.next();
    // The loop handles a failure, but only later. Until then it must not count as an unhandled rejection.
    asked.catch(() => {});
    return asked;
  };
  const eventOf = async ({ name, type }: Change): Promise<FilesystemEvent> => {
    const event = { name: name.toWellFormed(), type };
    if (!includeEntry || !WITH_ENTRY.has(type)) return event;
    const entry = await describeEntry(root, `${path}/${name}`).catch(() => undefined);
    return entry ? { ...event, entry } : event;
  };
  try {
    for (let next = ask();;) {
      const { done, value } = await next;
      if (done) return;
      next = ask();
      if (value.type === "alive") yield "quiet";
      else if (value.type === "overflow") throw lost();
      else if (value.type === "incomplete") throw notWatched(path, value.path);
      else if (value.type === "removed") yield { name: value.path, type: EventType.REMOVE };
      else if (value.type === "name") {
        const waitMs = value.hasMore ? BUSY_RENAME_MS : RENAME_MS;
        const following = mayBeMove(files, value) ? await within(waitMs, next) : undefined;
        const to = following?.value?.type === "name" ? following.value : undefined;
        const isMoved = to?.stats !== undefined && isMove(files, value, to);
        if (isMoved) next = ask();
        const changes = isMoved ? moved(files, value.path, to.path, to.stats!) : changesBy(files, value);
        for (const change of changes) yield await eventOf(change);
      }
    }
  } finally {
    await names.return(undefined);
  }
}

const WITH_ENTRY = new Set<EventType>([EventType.CREATE, EventType.WRITE, EventType.CHMOD]);

function lost(): ConnectError {
  return new ConnectError("events are lost, because there were too many: list the folder again", Code.DataLoss);
}

function notWatched(path: string, below: string): ConnectError {
  const why = `${below} may not be read, or there are too many folders`;
  return new ConnectError(`cannot watch all of ${path}: ${why}`, Code.ResourceExhausted);
}
