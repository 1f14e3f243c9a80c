/**
 * Shows creations how their claims change, from the one watch that the process has of all claims. A watch for each
 * creation would cost a connection to the API server each.
 * @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Api, WatchEvent } from "../kube/api.ts";
import { type EventHandler, isNewer } from "../kube/watch.ts";

/** A claim as the watch shows it. */
interface Shown {
  metadata: ObjectMeta;
  /** The whole claim. */
  object: object;
}

/** What creations follow. */
export interface Following<T extends Shown> {
  /** Takes what the watch shows, and passes it on to `next`. */
  handler(next: EventHandler<T>): EventHandler<T>;
  /**
   * Follows the claim of this name from now on, also before it exists; `end` ends that. Undefined: the watch has shown
   * nothing yet.
   */
  follow(namespace: string, name: string): Followed | undefined;
  /** Returns the API, with watches of single claims that are followed answered from here. */
  watchedBy(api: Api): Api;
}

interface Followed {
  /** Returns the claim as it was shown last; undefined: not yet, or it is gone. */
  latest(): object | undefined;
  end(): void;
}

interface Entry {
  /** The newest state by UID. A deleted claim of the same name may be shown late. */
  states: Map<string, Shown>;
  latest: Shown | undefined;
  listeners: Set<(event: WatchEvent) => void>;
}

const CLAIMS = /\/namespaces\/([^/]+)\/sandboxclaims$/;
const NAMED = /^metadata\.name=([^,]+)$/;

/** Creates it. Nothing is kept of claims that nobody follows. */
export function createFollowing<T extends Shown>(): Following<T> {
  const entries = new Map<string, Entry>();
  /** By UID: the entry that has shown it. */
  const places = new Map<string, Entry>();
  let isListed = false;

  function observe(shown: Shown): void {
    const { namespace, name, uid = "" } = shown.metadata;
    const entry = entries.get(`${namespace}/${name}`);
    if (!entry) return;
    places.set(uid, entry);
    entry.states.set(uid, shown);
    entry.latest = shown;
    for (const listener of entry.listeners) listener({ type: "MODIFIED", object: shown.object });
  }

  function gone(uid: string): void {
    const entry = places.get(uid);
    const shown = entry?.states.get(uid);
    places.delete(uid);
    if (!entry || !shown) return;
    entry.states.delete(uid);
    if (entry.latest === shown) entry.latest = undefined;
    for (const listener of entry.listeners) listener({ type: "DELETED", object: shown.object });
  }

  return {
    handler: (next) => ({
      ...next,
      listing: () => next.listing?.(),
      observe(shown) {
        observe(shown);
        next.observe(shown);
      },
      gone(uid) {
        gone(uid);
        next.gone(uid);
      },
      listed(uids, version) {
        isListed = true;
        next.listed?.(uids, version);
      },
    }),
    follow(namespace, name) {
      const key = `${namespace}/${name}`;
      // Two requests with one Idempotency-Key: the second finds the claim of the first, and waits in another way.
      if (!isListed || entries.has(key)) return undefined;
      const entry: Entry = { states: new Map(), latest: undefined, listeners: new Set() };
      entries.set(key, entry);
      return {
        latest: () => entry.latest?.object,
        end() {
          entries.delete(key);
          for (const uid of entry.states.keys()) places.delete(uid);
        },
      };
    },
    watchedBy: (api) => ({
      ...api,
      async watch(path, query, signal) {
        const [, namespace] = CLAIMS.exec(path) ?? [];
        const [, name] = NAMED.exec(query["fieldSelector"] ?? "") ?? [];
        const entry = entries.get(`${namespace}/${name}`);
        const version = query["resourceVersion"];
        if (!entry || version === undefined) return await api.watch(path, query, signal);
        return { status: 200, body: null, events: eventsOf(entry, version, signal) };
      },
    }),
  };
}

/** Yields what is newer than a version, until the signal fires. */
async function* eventsOf(entry: Entry, version: string, signal?: AbortSignal): AsyncGenerator<WatchEvent> {
  const waiting: WatchEvent[] = [...entry.states.values()].map(({ object }) => ({ type: "MODIFIED", object }));
  let wake = () => {};
  const listener = (event: WatchEvent) => {
    waiting.push(event);
    wake();
  };
  const end = () => wake();
  entry.listeners.add(listener);
  signal?.addEventListener("abort", end, { once: true });
  try {
    while (!signal?.aborted) {
      for (let event = waiting.shift(); event; event = waiting.shift()) if (isAfter(event, version)) yield event;
      if (signal?.aborted) return;
      await new Promise<void>((resolve) => wake = resolve);
    }
  } finally {
    entry.listeners.delete(listener);
    signal?.removeEventListener("abort", end);
  }
}

/** A deletion counts if it is of the version itself, too: no later state may have been shown. */
function isAfter({ type, object }: WatchEvent, version: string): boolean {
  const { resourceVersion = "" } = (object as { metadata: ObjectMeta }).metadata;
  return type === "DELETED" ? !isNewer(version, resourceVersion) : isNewer(resourceVersion, version);
}
