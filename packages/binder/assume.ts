/**
 * Decides whether a Sandbox that a watch or list shows is news to the binder. A watch event can be older than a write
 * of this process, which the binder already assumes, as kube-scheduler does ({@link Assumptions}). It can be older than
 * the last writes of the previous leader ({@link Freshness}), or than a restore of etcd ({@link Versions}).
 * @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { isNewer } from "../kube/watch.ts";

/**
 * The newest version of each Sandbox that this process knows from its own writes, by UID. Events up to that version are
 * stale.
 */
export interface Assumptions {
  assume(uid: string, version: string): void;
  /** Returns the assumed version; undefined if nothing is assumed about the Sandbox. */
  find(uid: string): string | undefined;
  end(uid: string): void;
  /**
   * Returns whether the observed version is no newer than the assumed one. The first newer version ends the assumption.
   */
  isOld(sandbox: Sandbox): boolean;
  /** Call when a list begins. The list is complete for everything that was assumed before. */
  listing(): void;
  /**
   * Call when the list is complete. Ends the assumptions from before the list that it refutes: of Sandboxes that are
   * not in the list, and of Sandboxes whose version is lower than the assumed one, as after a restore of etcd. Returns
   * the latter Sandboxes as the list shows them.
   */
  listed(uids: ReadonlySet<string>): Sandbox[];
  /** Returns whether the assumption was made after the list began. The list proves nothing about such a Sandbox. */
  isSince(uid: string): boolean;
}

/** Creates a record without assumptions. */
export function createAssumptions(): Assumptions {
  const assumed = new Map<string, string>();
  /** The assumptions that were made before the list began. */
  let before = new Map<string, string>();
  /** The stale Sandboxes that the current list has shown, by UID; undefined outside a list. */
  let old: Map<string, Sandbox> | undefined;
  const isSince = (uid: string) => assumed.has(uid) && assumed.get(uid) !== before.get(uid);
  return {
    assume: (uid, version) => void assumed.set(uid, version),
    find: (uid) => assumed.get(uid),
    end: (uid) => void assumed.delete(uid),
    isOld(sandbox) {
      const { uid = "", resourceVersion = "" } = sandbox.metadata;
      const known = assumed.get(uid);
      if (known === undefined) return false;
      if (!isNewer(resourceVersion, known)) {
        old?.set(uid, sandbox);
        return true;
      }
      assumed.delete(uid);
      return false;
    },
    listing() {
      before = new Map(assumed);
      old = new Map();
    },
    listed(uids) {
      for (const uid of before.keys()) if (!uids.has(uid) && !isSince(uid)) assumed.delete(uid);
      const shown = [...old?.values() ?? []];
      old = undefined;
      return shown.filter(({ metadata: { uid = "", resourceVersion = "" } }) => {
        const known = assumed.get(uid);
        // If the versions are equal, our write is still under way, or the watch does not show yet which writer won.
        if (known === undefined || isSince(uid) || !isNewer(known, resourceVersion)) return false;
        assumed.delete(uid);
        return true;
      });
    },
    isSince,
  };
}

/**
 * Tracks whether the watch of Sandboxes has shown everything that existed when this process became the leader. Only
 * then are all bindings by the previous leader known. A watch that was interrupted continues where it stopped, so it
 * can be seconds behind.
 */
export interface Freshness {
  /** Call when this process becomes the leader. The watch may not have shown yet what others wrote before. */
  begin(): void;
  /** Returns whether the watch has shown everything that was written before this process became the leader. */
  isFresh(): boolean;
  /** Records the version of the collection, as the API server returned it after this process became the leader. */
  asked(version: string): void;
  /**
   * Records that an object was shown in this version. If a watch shows it, all older versions were shown as well.
   * Within a list, this is not so.
   */
  shown(version: string): void;
  listing(): void;
  listed(): void;
}

/** Creates a tracker that is not fresh. */
export function createFreshness(): Freshness {
  let isFresh = false;
  /**
   * The version that the watch must reach; undefined if the API server was not asked since this process became the
   * leader.
   */
  let wanted: string | undefined;
  /** Set during a list. A list is complete for the version that was wanted when the list began. */
  let list: { wanted: string | undefined } | undefined;
  return {
    begin() {
      isFresh = false;
      wanted = undefined;
      if (list) list.wanted = undefined;
    },
    isFresh: () => isFresh,
    asked(version) {
      if (version !== "") wanted ??= version;
    },
    shown(version) {
      if (!list && wanted !== undefined && !isNewer(wanted, version)) isFresh = true;
    },
    listing: () => void (list = { wanted }),
    listed() {
      if (list?.wanted !== undefined) isFresh = true;
      list = undefined;
    },
  };
}

/**
 * Finds the Sandboxes that a restore of etcd from a backup has set back. Such a Sandbox exists again after its
 * deletion, or a list shows it in a version that the watch should have shown before, but did not. Without a restore,
 * the versions of one kind only grow, a list is never behind the watch, and no UID is used twice.
 */
export interface Versions {
  /**
   * Records an object that a watch or list shows. Returns true if the object was deleted before. Within a list, it also
   * returns true if the object's version is older than the known one, or is one that the watch should have shown.
   */
  observe(metadata: ObjectMeta): boolean;
  gone(uid: string): void;
  listing(): void;
  /** Call when the list is complete. @param version the version of the list; absent if it is not known */
  listed(version?: string): void;
}

/** Number of deleted objects that are remembered. If there are more, the oldest are dropped. */
const MOST_GONE = 50_000;

/** Creates an empty record. */
export function createVersions(): Versions {
  const versions = new Map<string, string>();
  /** UIDs of deleted objects, in the order of their deletion. */
  const ended = new Set<string>();
  /** Everything up to this version has been shown; undefined before the first list. */
  let complete: string | undefined;
  /** During a list: the value of `complete` before the list, and the newest version that the list has shown so far. */
  let list: { before: string | undefined; newest: string } | undefined;
  function end(uid: string): void {
    if (!versions.delete(uid)) return;
    ended.add(uid);
    const [oldest] = ended;
    if (ended.size > MOST_GONE && oldest !== undefined) ended.delete(oldest);
  }

  return {
    observe({ uid = "", resourceVersion = "" }) {
      const known = versions.get(uid);
      versions.set(uid, resourceVersion);
      const isBack = ended.has(uid);
      if (!list) {
        if (complete !== undefined && isNewer(resourceVersion, complete)) complete = resourceVersion;
        return isBack;
      }
      if (isNewer(resourceVersion, list.newest)) list.newest = resourceVersion;
      if (isBack || known !== undefined && isNewer(known, resourceVersion)) return true;
      // The watch would have shown an object in that version. So the object has changed since the restore, or it was
      // deleted before the first list.
      return known !== resourceVersion && list.before !== undefined && !isNewer(resourceVersion, list.before);
    },
    gone: end,
    listing: () => void (list = { before: complete, newest: "" }),
    listed(version) {
      // Not the higher of the two versions: after a restore, versions continue from the version of the list.
      complete = version ?? list?.newest ?? complete;
      list = undefined;
    },
  };
}
