/**
 * Which Sandboxes are shown older than they were, or again though they were gone: after a restore of etcd from a backup. Within
 * one history versions of one kind only grow, and a list is never behind what a watch has shown before it. Places nothing.
 * @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { isNewer } from "./assumptions.ts";

export interface Versions {
  /** Takes note of an object as a watch or list shows it; true: a list shows it older than it was, or again. */
  observe(metadata: ObjectMeta): boolean;
  gone(uid: string): void;
  listing(): void;
  /** @param version that of the list; absent: not known */
  listed(uids: ReadonlySet<string>, version?: string): void;
}

/** Makes what is known of versions: nothing. */
export function createVersions(): Versions {
  const versions = new Map<string, string>();
  /** All that there was up to this version has been shown; undefined: nothing was listed yet. */
  let complete: string | undefined;
  /** The same before the list that is under way, and the newest that it has shown. */
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
      // Not known, though it would have been shown: it was deleted, and is there again.
      return list.before !== undefined && !isNewer(resourceVersion, list.before);
    },
    gone: (uid) => void versions.delete(uid),
    listing: () => void (list = { before: complete, newest: "" }),
    listed(uids, version) {
      for (const uid of [...versions.keys()]) if (!uids.has(uid)) versions.delete(uid);
      // Not the later of both: after a restore versions count from there.
      complete = version ?? list?.newest ?? complete;
      list = undefined;
    },
  };
}
