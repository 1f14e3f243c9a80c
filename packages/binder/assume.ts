/**
 * Tells whether the watch of Sandboxes shows anything new. An event may be older than a write of this process, which is assumed
 * as in kube-scheduler ({@link Assumptions}), than the writes of the binder before it ({@link Freshness}), or than a restore of
 * etcd ({@link Versions}). Sends nothing.
 * @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";

/** By UID of the Sandbox: versions up to the one that is assumed say nothing new. */
export interface Assumptions {
  assume(uid: string, version: string): void;
  /** The version that is assumed; undefined: what the watch shows is all that is known. */
  find(uid: string): string | undefined;
  end(uid: string): void;
  /** Tells whether what was observed shows no more than is known already; the first newer version ends the assumption. */
  isOld(sandbox: Sandbox): boolean;
  /** A list begins: it is complete for all that was assumed before. */
  listing(): void;
  /**
   * The list is complete. Ends those assumptions from before it that it refutes: of Sandboxes that it lacks, and of those
   * whose version has gone back, as after a restore of the cluster; returns the latter as the list shows them.
   */
  listed(uids: ReadonlySet<string>): Sandbox[];
  /** Tells whether this was assumed after the list began: the list says nothing about it. */
  isSince(uid: string): boolean;
}

/** Makes the assumptions, none at first. */
export function createAssumptions(): Assumptions {
  const assumed = new Map<string, string>();
  /** Those from before the list. */
  let before = new Map<string, string>();
  /** By UID, what the list shows that is old. */
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
        // The same version: our write is under way, or the watch is yet to show who was faster.
        if (known === undefined || isSince(uid) || !isNewer(known, resourceVersion)) return false;
        assumed.delete(uid);
        return true;
      });
    },
    isSince,
  };
}

/** Tells which is newer: versions of one kind are whole numbers that grow. Source: Kubernetes API concepts, resource versions. */
export function isNewer(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}

/**
 * Whether the watch of Sandboxes has shown all that was there when this process began to lead: what a binder before it has
 * given is known from then on. A watch that was cut off goes on where it was, seconds late.
 */
export interface Freshness {
  /** This process leads from now on: what others have written until now may not have been shown. */
  begin(): void;
  /** Tells whether all of it has been shown. */
  isFresh(): boolean;
  /** The API server has said, since this process leads, that this is the version of the collection. */
  asked(version: string): void;
  /** The object is shown in this version: of a watch, so is all that came before; of a list, not yet. */
  shown(version: string): void;
  listing(): void;
  listed(): void;
}

/** Makes what is known of the watch: not fresh until it is seen to be. */
export function createFreshness(): Freshness {
  let isFresh = false;
  /** Undefined: nobody has asked since this process leads. */
  let wanted: string | undefined;
  /** Lists are complete for what was asked before they began. */
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
 * Finds the Sandboxes that a restore of etcd from a backup has set back. Such a Sandbox exists again after it was deleted, or a
 * list shows it in a version that the watch should have shown and has not. Without a restore, versions of one kind only grow, a
 * list is never behind the watch, and no UID is used twice.
 */
export interface Versions {
  /**
   * Records an object that a watch or list shows. Returns true if the object was gone, or if a list shows an older version of
   * it, or a version that the watch should have shown.
   */
  observe(metadata: ObjectMeta): boolean;
  gone(uid: string): void;
  listing(): void;
  /** @param version that of the list; absent: not known */
  listed(version?: string): void;
}

/** How many objects are remembered that are gone; the oldest are forgotten. */
const MOST_GONE = 50_000;

/** Makes an empty record. */
export function createVersions(): Versions {
  const versions = new Map<string, string>();
  /** The oldest first. */
  const ended = new Set<string>();
  /** Everything up to this version has been shown; undefined: nothing was listed yet. */
  let complete: string | undefined;
  /** During a list: what `complete` was before the list, and the newest version that the list has shown. */
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
      // An object of that version would be known: it has changed since the restore, or was gone before the first list.
      return known !== resourceVersion && list.before !== undefined && !isNewer(resourceVersion, list.before);
    },
    gone: end,
    listing: () => void (list = { before: complete, newest: "" }),
    listed(version) {
      // Not the higher of the two: after a restore, versions go on from the one that the list has.
      complete = version ?? list?.newest ?? complete;
      list = undefined;
    },
  };
}
