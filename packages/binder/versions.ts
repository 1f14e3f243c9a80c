/**
 * Finds the Sandboxes that a restore of etcd from a backup has set back: a list shows them older than they were, or again after
 * they were deleted. Without a restore, versions of one kind only grow, and a list is never behind what a watch has shown.
 * @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { isNewer } from "./assumptions.ts";

export interface Versions {
  /** Records an object that a watch or list shows; true: a list shows it older than it was, or again after its deletion. */
  observe(metadata: ObjectMeta): boolean;
  gone(uid: string): void;
  listing(): void;
  /** @param version that of the list; absent: not known */
  listed(uids: ReadonlySet<string>, version?: string): void;
}

/** Makes an empty record. */
export function createVersions(): Versions {
  const versions = new Map<string, string>();
  /** Everything up to this version has been shown; undefined: nothing was listed yet. */
  let complete: string | undefined;
  /** During a list: what `complete` was before the list, and the newest version that the list has shown. */
  let list: { before: string | undefined; newest: string } | undefined;
  return {
    observe({ uid = "", resourceVersion = "" }) {
      const known = versions.get(uid);
      versions.set(uid, resourceVersion);
      if (!list) {
        if (complete !== undefined && isNewer(resourceVersion, complete)) complete = resourceVersion;
        return false;
      }
      if (isNewer(resourceVersion, list.newest)) list.newest = resourceVersion;
      if (known !== undefined) return isNewer(known, resourceVersion);
      // An object of that version would be known: it was deleted, and is there again.
      return list.before !== undefined && !isNewer(resourceVersion, list.before);
    },
    gone: (uid) => void versions.delete(uid),
    listing: () => void (list = { before: complete, newest: "" }),
    listed(uids, version) {
      for (const uid of [...versions.keys()]) if (!uids.has(uid)) versions.delete(uid);
      // Not the higher of the two: after a restore, versions go on from the one that the list has.
      complete = version ?? list?.newest ?? complete;
      list = undefined;
    },
  };
}
