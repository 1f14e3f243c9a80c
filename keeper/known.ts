/** What is remembered of every object of a kind that others refer to: as little as they need. Decides nothing. @module */
import type { Sink } from "../kube/watch.ts";

/** What is remembered of an object. */
export interface Facts {
  uid: string;
  namespace: string;
  name: string;
  /** Another text means that what matters to others has changed. */
  version: string;
}

export interface Known<T, F extends Facts> {
  sink: Sink<T>;
  find(namespace: string | undefined, name: string): F | undefined;
  all(): Iterable<F>;
  /** Whether a list has been seen: until then, what is not found may exist all the same. */
  isComplete(): boolean;
  /** Has a listener called when an object has appeared, changed or gone; with undefined when a list is complete. */
  onChange(listener: (facts: F | undefined) => void): void;
}

/** Makes the memory of one kind; `read` says what to remember. */
export function createKnown<T, F extends Facts>(read: (object: T) => F): Known<T, F> {
  const byUid = new Map<string, F>();
  const byName = new Map<string, F>();
  const listeners: ((facts: F | undefined) => void)[] = [];
  let isComplete = false;
  const tell = (facts: F | undefined) => listeners.forEach((listener) => listener(facts));

  function forget(uid: string): void {
    const facts = byUid.get(uid);
    if (!facts) return;
    byUid.delete(uid);
    // Another object of the name may have come before this one's end was noticed.
    if (byName.get(keyOf(facts)) === facts) byName.delete(keyOf(facts));
    tell(facts);
  }

  return {
    sink: {
      observe(object) {
        const facts = read(object);
        const before = byUid.get(facts.uid);
        byUid.set(facts.uid, facts);
        byName.set(keyOf(facts), facts);
        if (before?.version !== facts.version) tell(facts);
      },
      gone: forget,
      listed(uids) {
        isComplete = true;
        for (const uid of [...byUid.keys()]) if (!uids.has(uid)) forget(uid);
        tell(undefined);
      },
    },
    find: (namespace = "", name) => byName.get(keyOf({ namespace, name })),
    all: () => byUid.values(),
    isComplete: () => isComplete,
    onChange: (listener) => void listeners.push(listener),
  };
}

function keyOf({ namespace, name }: Pick<Facts, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
