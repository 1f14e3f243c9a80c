/** Watches of the API in memory: decides which events each watch gets. @module */
import { copyJson } from "../../api/objects/exactjson.ts";
import type { ServedResource } from "../store/resources.ts";
import { type Clock, StoreError } from "../store/store.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { WatchEvent } from "../../kube/api.ts";
import type { Change, Changes } from "./changes.ts";
import type { ObjectMatcher } from "../store/selectors.ts";
import { failure } from "./status.ts";
import { createStream, type Stream } from "./stream.ts";

/** Time between bookmarks for a watch that allows them, in milliseconds of the cluster's clock; as on an API server. */
const BOOKMARK_MS = 60_000;

/** The objects that a watch is for, and its query. */
export interface Watching {
  resource: ServedResource;
  namespace: string | undefined;
  matches: ObjectMatcher;
  query: Record<string, string>;
}

/** The open watches, and what to call when one is awaited. */
export interface WatchListener {
  /** The open watches. */
  open: Set<Stream<WatchEvent>>;
  /** Called whenever a reader begins to wait for an event. */
  onAwaited(): void;
}

/** The data for watches. */
export interface WatchSource {
  changes: Changes;
  clock: Clock;
  /** The objects that exist, in the order of lists. */
  list(watching: Watching): KubeObject[];
  /** The resourceVersion of the last change. */
  version(): string;
}

/**
 * Opens a watch.
 *
 * | resourceVersion | first events |
 * |---|---|
 * | absent or 0 | all existing objects, as ADDED |
 * | N | the changes after N |
 * | N, if these changes are no longer recorded | ERROR 410 Expired, then the watch ends |
 *
 * With `sendInitialEvents`, all existing objects come first, then a bookmark that marks their end. An object that
 * begins or ceases to match the selectors is shown as ADDED or DELETED. `timeoutSeconds` is ignored: only the reader,
 * the cluster or a fault ends a watch.
 *
 * @throws {StoreError} 504 if the version is in the future
 */
export function openWatch(
  source: WatchSource,
  watching: Watching,
  { open, onAwaited }: WatchListener,
): Stream<WatchEvent> {
  const { query } = watching;
  const from = Number(query["resourceVersion"] || 0);
  if (from > Number(source.version())) {
    throw new StoreError(504, "Timeout", `Too large resource version: ${from}, current: ${source.version()}`);
  }
  const ends: (() => void)[] = [];
  const stream = createStream<WatchEvent>(() => {
    open.delete(stream);
    ends.forEach((end) => end());
  }, onAwaited);
  open.add(stream);
  const show = (change: Change) => {
    const event = eventOf(watching, change);
    if (event) stream.push(event);
  };
  const missed = from === 0 || query["sendInitialEvents"] === "true" ? undefined : source.changes.since(from);
  if (missed) missed.forEach(show);
  else if (from !== 0 && query["sendInitialEvents"] !== "true") {
    stream.push({ type: "ERROR", object: failure(410, "Expired", `too old resource version: ${from}`) });
    stream.end();
    return stream;
  } else showAll(source, watching, stream);
  ends.push(source.changes.subscribe(show));
  if (query["allowWatchBookmarks"] === "true") ends.push(bookmarks(source, watching, stream));
  return stream;
}

function showAll(source: WatchSource, watching: Watching, stream: Stream<WatchEvent>): void {
  for (const object of source.list(watching)) stream.push({ type: "ADDED", object });
  if (watching.query["sendInitialEvents"] !== "true") return;
  stream.push(bookmark(source, watching, { "k8s.io/initial-events-end": "true" }));
}

function eventOf({ resource, namespace, matches }: Watching, change: Change): WatchEvent | undefined {
  const { object, old, isGone } = change;
  if (change.resource.place !== resource.place) return undefined;
  if (namespace !== undefined && object.metadata.namespace !== namespace) return undefined;
  const was = old !== undefined && matches(old);
  const is = !isGone && matches(object);
  if (!was && !is) return undefined;
  const type = is ? (was ? "MODIFIED" : "ADDED") : "DELETED";
  return { type, object: { ...copyJson(object), apiVersion: resource.apiVersion } };
}

/** Sends bookmarks to a stream. The returned function ends that. */
function bookmarks(source: WatchSource, watching: Watching, stream: Stream<WatchEvent>): () => void {
  let cancel = () => {};
  const next = () => {
    cancel = source.clock.setTimeout(() => {
      stream.push(bookmark(source, watching, undefined));
      next();
    }, BOOKMARK_MS);
  };
  next();
  return () => cancel();
}

function bookmark(source: WatchSource, { resource }: Watching, annotations: object | undefined): WatchEvent {
  const { apiVersion, kind } = resource;
  const metadata = { resourceVersion: source.version(), ...(annotations && { annotations }) };
  return { type: "BOOKMARK", object: { apiVersion, kind, metadata } };
}
