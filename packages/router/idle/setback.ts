/**
 * Remembers which Sandboxes a restore of etcd from a backup has set back: their spec has had a higher generation. What their
 * annotations say of idleness is as old as the backup, and somebody may have used them since. Asks nobody. @module
 */
import type { SandboxRecord } from "../index/records.ts";

export interface SetBack {
  /** Takes note of a Sandbox as it is now, and tells whether it is as a restore has left it. */
  look(sandbox: SandboxRecord): boolean;
  /** Forgets the Sandboxes that are not among these UIDs. */
  prune(known: ReadonlySet<string>): void;
}

/** Makes an empty record. */
export function createSetBack(): SetBack {
  /** By UID; `isSetBack` holds until the generation changes. */
  const seen = new Map<string, { generation: number; isSetBack: boolean }>();
  return {
    look({ metadata: { uid, generation } }) {
      const before = seen.get(uid);
      if (before?.generation === generation) return before.isSetBack;
      const isSetBack = before !== undefined && generation < before.generation;
      seen.set(uid, { generation, isSetBack });
      return isSetBack;
    },
    prune(known) {
      for (const uid of seen.keys()) if (!known.has(uid)) seen.delete(uid);
    },
  };
}
