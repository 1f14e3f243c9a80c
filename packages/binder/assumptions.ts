/** What is known of Sandboxes ahead of the watch, by their versions, and what ends that: a newer event, or a list. Places nothing. @module */
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
