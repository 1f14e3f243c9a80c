/** Keeps what other objects refer to by name: pools, templates and NetworkPolicies. @module */
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { createStore, type Store } from "../kube/store.ts";
import type { KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import { nameHash } from "../api/objects/names.ts";

/** What is kept of a pool or template. */
export interface Referred {
  uid: string;
  namespace: string;
  /** Hash of its name. */
  hash: string;
  isBeingDeleted: boolean;
}

/** A NetworkPolicy as `policyToKeep` returns it. */
export interface KnownPolicy {
  namespace: string;
  name: string;
  policy: KubeObject;
  /** Changes whenever the policy changes. */
  version: string;
}

export interface References {
  pools: Store<SandboxWarmPool, Referred, "hash">;
  templates: Store<SandboxTemplate, Referred, "hash">;
  /** All NetworkPolicies. */
  policies: Store<KubeObject, KnownPolicy>;
}

export function createReferences(): References {
  return {
    pools: createStore(REFERRED),
    templates: createStore(REFERRED),
    policies: createStore({ keep: knownPolicy, isSame: (before, after) => before.version === after.version }),
  };
}

const REFERRED = {
  keep({ metadata }: { metadata: ObjectMeta }): Referred {
    const { uid = "", namespace = "", name, deletionTimestamp } = metadata;
    return { uid, namespace, hash: nameHash(name), isBeingDeleted: deletionTimestamp !== undefined };
  },
  indexes: { hash: ({ namespace, hash }: Referred) => [hashKey(namespace, hash)] },
  isSame: (before: Referred, after: Referred) => before.isBeingDeleted === after.isBeingDeleted,
};

/** Returns the key of the index "hash", for pools or templates whose names have this hash. */
export function hashKey(namespace: string | undefined, hash: string): string {
  return `${namespace}/${hash}`;
}

function knownPolicy(policy: KubeObject): KnownPolicy {
  const { namespace = "", name, resourceVersion: _, ...metadata } = policy.metadata;
  return { namespace, name, policy, version: JSON.stringify([metadata, policy["spec"]]) };
}
