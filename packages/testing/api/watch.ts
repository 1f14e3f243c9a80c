/** Watches of the API in memory: records changes, and decides which events each watch gets. @module */
import { copyJson } from "../../api/objects/json.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { WatchEvent } from "../../kube/api.ts";
import type { StoredChange } from "../store/memory.ts";
import type { ServedResource } from "../store/resources.ts";
import type { ObjectMatcher } from "../store/selectors.ts";
import { type Clock, StoreError } from "../store/store.ts";
import { failureStatus } from "./protocol.ts";

/** The objects that a watch is for, and its query. */
export interface WatchRequest {
  resource: ServedResource;
  namespace: string | undefined;
  matches: ObjectMatcher;
  query: Record<string, string>;
}

/** All open watches, and a callback for their readers. */
interface WatchListener {
  open: Set<Stream<WatchEvent>>;
  /** Called whenever a reader begins to wait for an event. */
  onAwaited(): void;
}

/** Where a watch gets its events from. */
export interface WatchSource {
  changes: ChangeLog;
  clock: Clock;
  /** The objects that exist, in the order of lists. */
  list(request: WatchRequest): KubeObject[];
  /** The resourceVersion of the last change. */
  version(): string;
}

/** A change, with its resourceVersion as a number. */
export interface RecordedChange extends StoredChange {
  version: number;
}

export interface ChangeLog {
  record(change: StoredChange): void;
  /** Returns the changes after a version, in order; undefined if some of them are no longer recorded. */
  since(version: number): readonly RecordedChange[] | undefined;
  /** Calls `listener` for every change from now on; the returned function ends that. */
  subscribe(listener: (change: RecordedChange) => void): () => void;
}

export interface Stream<T> extends AsyncIterableIterator<T> {
  push(value: T): void;
  /** Ends the stream after the pushed values have been read; with an error, reading then throws the error. */
  end(error?: Error): void;
  /** Tells whether the reader has read everything and waits for more. */
  isAwaited(): boolean;
}

/** Time between bookmarks for a watch that allows them, in milliseconds of the cluster's clock; as on an API server. */
const BOOKMARK_MS = 60_000;

const DONE = { done: true, value: undefined } as const;

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
  request: WatchRequest,
  { open, onAwaited }: WatchListener,
): Stream<WatchEvent> {
  const { query } = request;
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
  const show = (change: RecordedChange) => {
    const event = eventOf(request, change);
    if (event) stream.push(event);
  };
  const missed = from === 0 || query["sendInitialEvents"] === "true" ? undefined : source.changes.since(from);
  if (missed) missed.forEach(show);
  else if (from !== 0 && query["sendInitialEvents"] !== "true") {
    stream.push({ type: "ERROR", object: failureStatus(410, "Expired", `too old resource version: ${from}`) });
    stream.end();
    return stream;
  } else showAll(source, request, stream);
  ends.push(source.changes.subscribe(show));
  if (query["allowWatchBookmarks"] === "true") ends.push(bookmarks(source, request, stream));
  return stream;
}

/** Makes an empty record. @param limit most changes that it stores */
export function createChangeLog(limit: number): ChangeLog {
  const recorded: RecordedChange[] = [];
  const listeners = new Set<(change: RecordedChange) => void>();
  let lastDropped = 0;
  return {
    record(stored) {
      const change = { ...stored, version: Number(stored.object.metadata.resourceVersion) };
      recorded.push(change);
      if (recorded.length > limit) lastDropped = recorded.shift()?.version ?? lastDropped;
      for (const listener of [...listeners]) listener(change);
    },
    since: (version) => version < lastDropped ? undefined : recorded.filter((change) => change.version > version),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * Makes a stream. It is not a generator, because the reader must be able to stop (`return`) while it waits for a value.
 *
 * @param onEnd called once, when either side has ended the stream
 * @param onAwaited called whenever the reader begins to wait
 */
export function createStream<T>(onEnd: () => void, onAwaited: () => void): Stream<T> {
  const values: T[] = [];
  const wanting: PendingRead<T>[] = [];
  const over = { is: false, error: undefined as Error | undefined };

  function end(error?: Error): void {
    if (over.is) return;
    Object.assign(over, { is: true, error });
    for (const { resolve, reject } of wanting.splice(0)) error ? reject(error) : resolve(DONE);
    onEnd();
  }

  return {
    push(value) {
      if (over.is) return;
      const first = wanting.shift();
      if (first) first.resolve({ done: false, value });
      else values.push(value);
    },
    end,
    isAwaited: () => wanting.length > 0,
    next() {
      if (values.length > 0) return Promise.resolve({ done: false, value: values.shift() as T });
      if (over.error) return Promise.reject(over.error);
      if (over.is) return Promise.resolve(DONE);
      return new Promise((resolve, reject) => {
        wanting.push({ resolve, reject });
        onAwaited();
      });
    },
    return() {
      values.length = 0;
      end();
      return Promise.resolve(DONE);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function showAll(source: WatchSource, request: WatchRequest, stream: Stream<WatchEvent>): void {
  for (const object of source.list(request)) stream.push({ type: "ADDED", object });
  if (request.query["sendInitialEvents"] !== "true") return;
  stream.push(bookmark(source, request, { "k8s.io/initial-events-end": "true" }));
}

function eventOf({ resource, namespace, matches }: WatchRequest, change: RecordedChange): WatchEvent | undefined {
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
function bookmarks(source: WatchSource, request: WatchRequest, stream: Stream<WatchEvent>): () => void {
  let cancel = () => {};
  const next = () => {
    cancel = source.clock.setTimeout(() => {
      stream.push(bookmark(source, request, undefined));
      next();
    }, BOOKMARK_MS);
  };
  next();
  return () => cancel();
}

function bookmark(source: WatchSource, { resource }: WatchRequest, annotations: object | undefined): WatchEvent {
  const { apiVersion, kind } = resource;
  const metadata = { resourceVersion: source.version(), ...(annotations && { annotations }) };
  return { type: "BOOKMARK", object: { apiVersion, kind, metadata } };
}

type PendingRead<T> = { resolve(result: IteratorResult<T, undefined>): void; reject(error: Error): void };
