/** What the keeper remembers of pools, templates and NetworkPolicies, to which others refer by name, and which objects wait for them. @module */
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { EventHandler } from "../kube/watch.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { nameHash } from "../api/objects/names.ts";
import { type Kept, type Named, toKeep } from "./kept.ts";
import type { WorkQueue } from "./workqueue.ts";

export interface PoolFacts extends Facts {
  /** Hash of its name. */
  hash: string;
  isBeingDeleted: boolean;
}

interface TemplateFacts extends Facts {
  /** Hash of its name. */
  hash: string;
}

export interface PolicyFacts extends Facts {
  policy: KubeObject;
}

export interface References {
  pools: Known<SandboxWarmPool, PoolFacts>;
  templates: Known<SandboxTemplate, TemplateFacts>;
  /** All NetworkPolicies, as `policyToKeep` reads them. */
  policies: Known<KubeObject, PolicyFacts>;
}

export function createReferences(): References {
  return { pools: createKnown(poolFacts), templates: createKnown(templateFacts), policies: createKnown(policyFacts) };
}

function poolFacts({ metadata }: SandboxWarmPool): PoolFacts {
  const { uid = "", namespace = "", name } = metadata;
  const hash = nameHash(name);
  const isBeingDeleted = metadata.deletionTimestamp !== undefined;
  const groups = [hashGroup(namespace, hash)];
  return { uid, namespace, name, version: `${isBeingDeleted}`, groups, hash, isBeingDeleted };
}

/** Names the group of pools or templates whose names have this hash. */
export function hashGroup(namespace: string | undefined, hash: string): string {
  return `hash ${namespace}/${hash}`;
}

function templateFacts({ metadata }: SandboxTemplate): TemplateFacts {
  const { uid = "", namespace = "", name } = metadata;
  const hash = nameHash(name);
  return { uid, namespace, name, version: "", groups: [hashGroup(namespace, hash)], hash };
}

function policyFacts(policy: KubeObject): PolicyFacts {
  const { uid = "", namespace = "", name, resourceVersion: _, ...metadata } = policy.metadata;
  return { uid, namespace, name, version: JSON.stringify([metadata, policy["spec"]]), policy };
}

/** What is remembered of an object. */
export interface Facts {
  uid: string;
  namespace: string;
  name: string;
  /** Another text means that what matters to others has changed. */
  version: string;
  /** What it is found by beside its name; absent: nothing. */
  groups?: readonly string[];
}

export interface Known<T, F extends Facts> {
  handler: EventHandler<T>;
  find(namespace: string | undefined, name: string): F | undefined;
  /** What is of a group. */
  members(group: string): Iterable<F>;
  /** Whether a list has been seen: until then, what is not found may exist all the same. */
  isComplete(): boolean;
  /** Has a listener called when an object has appeared, changed or gone; with undefined when a list is complete. */
  onChange(listener: (facts: F | undefined) => void): void;
}

/** Makes the memory of one kind; `read` says what to remember. */
export function createKnown<T, F extends Facts>(read: (object: T) => F): Known<T, F> {
  const byUid = new Map<string, F>();
  const byName = new Map<string, F>();
  const byGroup = new Map<string, Map<string, F>>();
  const listeners: ((facts: F | undefined) => void)[] = [];
  let isComplete = false;
  const tell = (facts: F | undefined) => listeners.forEach((listener) => listener(facts));

  function leave({ uid, groups = [] }: F): void {
    for (const name of groups) {
      const group = byGroup.get(name);
      group?.delete(uid);
      if (group?.size === 0) byGroup.delete(name);
    }
  }

  function forget(uid: string): void {
    const facts = byUid.get(uid);
    if (!facts) return;
    byUid.delete(uid);
    leave(facts);
    // Another object of the name may have come before this one's end was noticed.
    if (byName.get(keyOf(facts)) === facts) byName.delete(keyOf(facts));
    tell(facts);
  }

  return {
    handler: {
      observe(object) {
        const facts = read(object);
        const before = byUid.get(facts.uid);
        if (before) leave(before);
        for (const name of facts.groups ?? []) {
          byGroup.set(name, (byGroup.get(name) ?? new Map<string, F>()).set(facts.uid, facts));
        }
        byUid.set(facts.uid, facts);
        byName.set(keyOf(facts), facts);
        if (before?.version !== facts.version) tell(facts);
      },
      gone: forget,
      listed() {
        isComplete = true;
        tell(undefined);
      },
    },
    find: (namespace = "", name) => byName.get(keyOf({ namespace, name })),
    members: (group) => byGroup.get(group)?.values() ?? [],
    isComplete: () => isComplete,
    onChange: (listener) => void listeners.push(listener),
  };
}

function keyOf({ namespace, name }: Pick<Facts, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

export interface Waiting<T> extends EventHandler<T> {
  /** Has the queue judge anew what waits for `key`; without one, all that waits. */
  again(key?: string): void;
}

/**
 * Makes an event handler in front of a queue.
 *
 * @param keyOf names what an object waits for; undefined: nothing, so that it is not kept
 */
export function createWaiting<T extends Named>(
  queue: WorkQueue<T>,
  keyOf: (object: T) => string | undefined,
): Waiting<T> {
  const keys = new Map<string, string>();
  const groups = new Map<string, Map<string, Kept<T>>>();

  function keep(uid: string, key: string, object: T): void {
    const group = groups.get(key) ?? new Map<string, Kept<T>>();
    groups.set(key, group.set(uid, toKeep(object)));
    keys.set(uid, key);
  }

  function drop(uid: string): void {
    const key = keys.get(uid);
    if (key === undefined) return;
    keys.delete(uid);
    const group = groups.get(key);
    group?.delete(uid);
    if (group?.size === 0) groups.delete(key);
  }

  return {
    listing: () => queue.listing?.(),
    observe(object) {
      const { uid = "" } = object.metadata;
      const key = keyOf(object);
      if (keys.get(uid) !== key) drop(uid);
      if (key !== undefined) keep(uid, key, object);
      queue.observe(object);
    },
    gone(uid) {
      drop(uid);
      queue.gone(uid);
    },
    again(key) {
      const found = key === undefined ? [...groups.values()] : [groups.get(key) ?? new Map<string, Kept<T>>()];
      for (const kept of found.flatMap((group) => [...group.values()])) queue.again(kept);
    },
  };
}
