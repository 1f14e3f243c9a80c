/**
 * Finds the Sandboxes that a restore of etcd from a backup has set back. Such a Sandbox exists again after it was deleted, or a
 * list shows it in a version that the watch should have shown and has not. Without a restore, versions of one kind only grow, a
 * list is never behind the watch, and no UID is used twice. @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { isNewer } from "./assumptions.ts";

export interface Versions {
  /**
   * Records an object that a watch or list shows. Returns true if the object was gone, or if a list shows an older version of
   * it, or a version that the watch should have shown.
   */
  observe(metadata: ObjectMeta): boolean;
  gone(uid: string): void;
  listing(): void;
  /** @param version that of the list; absent: not known */
  listed(uids: ReadonlySet<string>, version?: string): void;
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
    listed(uids, version) {
      for (const uid of [...versions.keys()]) if (!uids.has(uid)) end(uid);
      // Not the higher of the two: after a restore, versions go on from the one that the list has.
      complete = version ?? list?.newest ?? complete;
      list = undefined;
    },
  };
}
