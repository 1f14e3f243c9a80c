/** Passes every object of a collection to an event handler, first by a list, then by a watch, until a signal fires. @module */
import { errorFields, type Log } from "../process/log.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { type Answer, type Api, messageOf, type WatchEvent, WatchSilent } from "./api.ts";
import { backoffMs, sleep } from "./backoff.ts";
import { pagesOf } from "./requests.ts";

/** Receives the objects of a watch. */
export interface EventHandler<T> {
  /** A list begins. It may not show changes from now on. It may fail and begin again. */
  listing?(): void;
  /** The object exists, or has changed. */
  observe(object: T): void;
  /** The object is gone: the watch shows its deletion, or a list lacks it. */
  gone(uid: string): void;
  /**
   * A list is complete. The list is authoritative even if it shows an object in an older version than before: after a
   * restore of etcd, versions go back and deleted objects return.
   *
   * @param uids UIDs of the listed objects. Objects that the handler knows from elsewhere and that are not listed are
   *   gone, too
   * @param version the list's resourceVersion; absent: not known
   */
  listed?(uids: ReadonlySet<string>, version?: string): void;
}

export interface WatchOptions {
  log: Log;
  signal: AbortSignal;
  /** Called at each sign that the API server answers and the watch works: a list, an open watch, an event. */
  onHeard?: (() => void) | undefined;
}

/** A collection, and how to parse its objects. */
export interface Collection<T> {
  path: string;
  /** Parameters such as a labelSelector; absent: none. */
  query?: Record<string, string>;
  /** Parses an object; undefined: it is invalid. Then it is skipped and logged. */
  parse(object: unknown): T | undefined;
}

/**
 * Returns whether the first version is newer. The versions of all objects of one kind are whole numbers that grow.
 * Source: Kubernetes API concepts, resource versions.
 */
export function isNewer(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}

/** Timeout of a watch on the API server. The random spread keeps many watches from ending at the same time. */
const WATCH_SECONDS = { least: 300, spread: 300 };
/** A watch that ends sooner than this counts as a failure, so that there is no busy loop. */
const SHORT_LIFE_MS = 1000;

type Observed = { metadata: ObjectMeta };
interface Cursor {
  /** The version from which the watch continues; undefined: start with a list. */
  version: string | undefined;
  /** UIDs of the objects that exist according to the events that the handler has received. */
  shown: Set<string>;
}

/**
 * Lists the collection, watches it from there, and starts again whenever that ends. Returns when `signal` fires.
 *
 * | event | reaction |
 * |---|---|
 * | the server ends the watch | continue from the last version seen |
 * | the watch breaks, is silent, or cannot be opened | list again |
 * | the server refuses that version (410: too old; 504: too new, after a restore of etcd) | list again |
 * | any failure | continue after 1 s, 2 s, … 30 s |
 *
 * A watch that broke does not resume. While it was broken, etcd may have been restored, and writes to other objects may
 * have raised its versions above the last one seen. The server would accept that version and never show the earlier
 * changes.
 */
export async function listAndWatch<T extends Observed>(
  api: Api,
  collection: Collection<T>,
  handler: EventHandler<T>,
  { log, signal, onHeard = () => {} }: WatchOptions,
): Promise<void> {
  const cursor: Cursor = { version: undefined, shown: new Set() };
  const checked = { ...collection, parse: reporting(collection, log) };
  let failures = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      cursor.version ??= await list(api, checked, handler, cursor);
      onHeard();
      await watch(api, checked, handler, { cursor, signal, onHeard });
    } catch (error) {
      if (signal.aborted) return;
      cursor.version = undefined;
      // In a collection without changes, this can happen every time.
      log(error instanceof WatchSilent ? "info" : "warn", "Watch interrupted", {
        path: collection.path,
        ...errorFields(error),
        stack: undefined,
      });
    }
    failures = performance.now() - startedAt > SHORT_LIFE_MS ? 0 : failures + 1;
    if (failures > 0) await sleep(backoffMs(failures - 1), signal);
  }
}

/** Returns the resourceVersion of the list. */
async function list<T extends Observed>(
  api: Api,
  collection: Collection<T>,
  handler: EventHandler<T>,
  cursor: Cursor,
): Promise<string> {
  const { path, query, parse } = collection;
  const uids = new Set<string>();
  handler.listing?.();
  let listed = "";
  for await (const { items, version } of pagesOf(api, path, query)) {
    for (const item of items) {
      uids.add(uidOf(item));
      cursor.shown.add(uidOf(item));
      const object = parse(item);
      if (object) handler.observe(object);
    }
    listed = version;
  }
  for (const uid of cursor.shown) if (!uids.has(uid)) handler.gone(uid);
  cursor.shown = uids;
  handler.listed?.(uids, listed);
  return listed;
}

/** Watches until the server ends the watch. Moves the cursor with each event. */
async function watch<T extends Observed>(
  api: Api,
  { path, query, parse }: Collection<T>,
  handler: EventHandler<T>,
  { cursor, signal, onHeard }: { cursor: Cursor; signal: AbortSignal; onHeard: () => void },
): Promise<void> {
  const wanted = {
    ...query,
    resourceVersion: cursor.version ?? "",
    allowWatchBookmarks: "true",
    timeoutSeconds: String(Math.round(WATCH_SECONDS.least + Math.random() * WATCH_SECONDS.spread)),
  };
  const answer = await api.watch(path, wanted, signal);
  if (answer.status !== 200) throw interrupted(path, answer);
  onHeard();
  for await (const { type, object } of answer.events) {
    if (type === "ERROR") throw interrupted(path, statusOf(object));
    onHeard();
    show({ type, object }, parse, handler);
    if (type === "DELETED") cursor.shown.delete(uidOf(object));
    else if (type !== "BOOKMARK") cursor.shown.add(uidOf(object));
    cursor.version = versionOf(object);
  }
}

function show<T extends Observed>(
  { type, object }: WatchEvent,
  parse: Collection<T>["parse"],
  handler: EventHandler<T>,
): void {
  if (type === "DELETED") return handler.gone(uidOf(object));
  if (type !== "ADDED" && type !== "MODIFIED") return;
  const parsed = parse(object);
  if (parsed) handler.observe(parsed);
}

function interrupted(path: string, answer: Answer): Error {
  return new Error(`Cannot watch ${path}: ${messageOf(answer)}`);
}

function reporting<T>({ path, parse }: Collection<T>, log: Log): Collection<T>["parse"] {
  return (object) => {
    const parsed = parse(object);
    if (parsed === undefined) log("warn", "Cannot read an object", { path, uid: uidOf(object) });
    return parsed;
  };
}

function statusOf(status: unknown): Answer {
  return { status: (status as { code?: number }).code ?? 0, body: status };
}

function uidOf(object: unknown): string {
  return (object as Observed).metadata.uid ?? "";
}

function versionOf(object: unknown): string | undefined {
  return (object as Observed).metadata.resourceVersion;
}

/** Wraps an event handler so that its errors are logged and do not end the watch. @param name for the log */
export function isolated<T>(name: string, handler: EventHandler<T>, log: Log): EventHandler<T> {
  const attempt = (step: () => void) => {
    try {
      step();
    } catch (error) {
      log("error", `Cannot take note for ${name}`, errorFields(error));
    }
  };
  return {
    listing: () => attempt(() => handler.listing?.()),
    observe: (object) => attempt(() => handler.observe(object)),
    gone: (uid) => attempt(() => handler.gone(uid)),
    listed: (uids, version) => attempt(() => handler.listed?.(uids, version)),
  };
}
