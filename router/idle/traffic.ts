/** Which sandboxes are used through this router, and when they last were. Knows no clock. @module */
import type { Target } from "../destination/target.ts";

/** Use of one sandbox. Times in milliseconds since the epoch. */
export interface Use {
  open: number;
  lastAt: number;
}

export interface Traffic {
  begun(target: Target): void;
  ended(target: Target): void;
  /** What is known of a sandbox; undefined: this router has not seen anybody use it. */
  useOf(namespace: string, name: string): Use | undefined;
  /** Forgets those for which `isKnown` is false, and which nobody uses. */
  prune(isKnown: (namespace: string, name: string) => boolean): void;
}

interface Entry extends Use {
  namespace: string;
  name: string;
  toldAt: number;
}

/** How often the same sandbox is told of, in milliseconds. */
const TELL_MS = 1000;

/** Makes it; `onUse` hears of a sandbox that is used, now and then. */
export function createTraffic(now: () => number, onUse: (namespace: string, name: string) => void): Traffic {
  const entries = new Map<string, Entry>();
  const entryOf = ({ namespace, name }: Target): Entry => {
    const key = `${namespace}/${name}`;
    let entry = entries.get(key);
    if (!entry) entries.set(key, entry = { namespace, name, open: 0, lastAt: 0, toldAt: 0 });
    return entry;
  };
  return {
    begun(target) {
      const entry = entryOf(target);
      entry.open++;
      entry.lastAt = now();
      if (entry.lastAt - entry.toldAt < TELL_MS) return;
      entry.toldAt = entry.lastAt;
      onUse(entry.namespace, entry.name);
    },
    ended(target) {
      const entry = entryOf(target);
      entry.open--;
      entry.lastAt = now();
    },
    useOf: (namespace, name) => entries.get(`${namespace}/${name}`),
    prune(isKnown) {
      for (const [key, { namespace, name, open }] of entries) {
        if (open === 0 && !isKnown(namespace, name)) entries.delete(key);
      }
    },
  };
}
