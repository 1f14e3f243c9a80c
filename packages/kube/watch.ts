/** Shows an event handler every object of a collection, first by list, then by watch, for ever. Decides nothing. @module */
import { errorFields, type Log } from "../process/log.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { type Answer, type Api, messageOf, type WatchEvent, WatchSilent } from "./api.ts";
import { backoffMs, sleep } from "./backoff.ts";
import { pagesOf } from "./pages.ts";

/** What a watch feeds. */
export interface EventHandler<T> {
  /** A list begins: what happens from now on it may not show. It may fail, and begin again. */
  listing?(): void;
  /** The object is there, or has changed. */
  observe(object: T): void;
  /** The object is gone: the watch says so, or a list lacks an object that was shown. */
  gone(uid: string): void;
  /**
   * A list is complete. The list is right even if it shows an object in an older version than before: after a restore of
   * etcd, versions go back and deleted objects return.
   *
   * @param uids those in the list. What the handler knows from elsewhere and the list lacks is gone, too
   * @param version the list's resourceVersion; absent: not known
   */
  listed?(uids: ReadonlySet<string>, version?: string): void;
}

export interface WatchOptions {
  log: Log;
  signal: AbortSignal;
  /** Called at each sign that the API server answers and the watch goes on: a list, an open watch, an event. */
  onHeard?: (() => void) | undefined;
}

/** A collection: where it is, and how its objects are read. */
export interface Collection<T> {
  path: string;
  /** What narrows it down, such as a labelSelector; absent: nothing does. */
  query?: Record<string, string>;
  /** Returns undefined for what it cannot read; such an object is left alone and logged. */
  parse(object: unknown): T | undefined;
}

/** The API server ends a watch after this; the spread keeps many watches from ending together. */
const WATCH_SECONDS = { least: 300, spread: 300 };
/** What ends sooner than this counts as a failure, so that nothing goes round hot. */
const SHORT_LIFE_MS = 1000;

type Observed = { metadata: ObjectMeta };
interface Cursor {
  /** Where the watch goes on; undefined: begin with a list. */
  version: string | undefined;
  /** UIDs of what the handler was shown and was not told to be gone. */
  shown: Set<string>;
}

/**
 * Lists the collection, watches it from there, and does so again whenever that ends; returns when `signal` fires.
 *
 * | what happens | then |
 * |---|---|
 * | the server ends the watch | goes on from the last version seen |
 * | the watch breaks or goes silent, or cannot be opened | lists again |
 * | the server refuses that version (410: too old; 504: it has none so new, having been restored) | lists again |
 * | anything fails | goes on after 1 s, 2 s, … 30 s |
 *
 * A watch that broke does not resume. While it was broken, etcd may have been restored, and writes to other objects may have
 * raised its versions above the last one seen. The server would accept that version and never show the earlier changes.
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
      // Where nothing happens this may come every time.
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

/** Returns the version that the list shows. */
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

/** Watches until the server ends it. Moves the cursor as events come. */
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

/** Wraps an event handler: what it throws is logged, and ends no watch. @param name for the log */
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
