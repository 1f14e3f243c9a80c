/** Watches of the API in memory: what is shown to whom, in which words. @module */
import { copyJson } from "../../api/objects/exactjson.ts";
import type { ServedResource } from "../engine/memory-kinds.ts";
import { type Clock, StoreError } from "../engine/store.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { WatchEvent } from "../../kube/api.ts";
import type { Change, Changes } from "./changes.ts";
import type { ObjectMatcher } from "./selectors.ts";
import { failure } from "./status.ts";
import { createStream, type Stream } from "./stream.ts";

/** A bookmark comes this often to who allows them, in milliseconds of the cluster's clock, as from the API server. */
const BOOKMARK_MS = 60_000;

/** What a watch shows. */
export interface Watching {
  resource: ServedResource;
  namespace: string | undefined;
  matches: ObjectMatcher;
  query: Record<string, string>;
}

/** Who wants to know of watches. */
export interface WatchListener {
  /** Those that are open. */
  open: Set<Stream<WatchEvent>>;
  /** Called whenever somebody begins to wait for what one shows. */
  onAwaited(): void;
}

/** What watches are made of. */
export interface WatchSource {
  changes: Changes;
  clock: Clock;
  /** What exists now, in the order of lists. */
  list(watching: Watching): KubeObject[];
  /** The resourceVersion of the last change. */
  version(): string;
}

/**
 * Opens a watch.
 *
 * | resourceVersion | shown at first |
 * |---|---|
 * | absent or 0 | all that exists, as ADDED |
 * | N | what came after N |
 * | N, too long ago | ERROR 410 Expired, and the end |
 *
 * With `sendInitialEvents` all that exists comes first, and a bookmark that says so. An object that begins or ceases to
 * match the selectors is shown as ADDED or DELETED. `timeoutSeconds` is not heeded: only its reader, the cluster or a
 * fault ends a watch.
 *
 * @throws {StoreError} 504 if the version has not been reached yet
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

/** Returns the end of them. */
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
