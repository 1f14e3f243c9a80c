/** Keeps what the binder knows of the cluster, from its watches and from its own writes. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { forClaim } from "../../hooks/sandboxwarmpool/sandbox.ts";
import type { EventHandler } from "../kube/watch.ts";
import { CLAIM_UID_LABEL, DRAINING_LABEL } from "../api/objects/keys.ts";
import { controllerOf, type KubeObject, type ObjectMeta, uidKey } from "../api/objects/objects.ts";
import { createStore, type Store } from "../kube/store.ts";
import { type Assumptions, createAssumptions, createFreshness, createVersions, type Freshness } from "./assume.ts";
import { type Controlled, createControlled } from "./standing.ts";
import { createMembers, type Members } from "./score.ts";
import { changeOf, projectMember, projectPool, projectTemplate } from "./store.ts";
import { policyName } from "../api/templatepolicy.ts";

/** Callbacks for changes in the index. */
export interface IndexListener {
  /** The spec of a pool or of its template has changed. */
  onPool(namespace: string, pool: string): void;
  /** The members of a pool have changed, or the counts in the pool's status. */
  onMembers(namespace: string, pool: string): void;
  /** A Sandbox that a claim controls was added or changed; undefined if it is gone. */
  onControlled(namespace: string, claim: string, sandbox: Sandbox | undefined): void;
  /** A restore of etcd put this Sandbox back into its pool without a mark. A claim may have had it before the restore. */
  onReturned?(sandbox: Sandbox): void;
}

export interface ClusterIndex {
  sandboxes: Required<EventHandler<Sandbox>>;
  pools: EventHandler<SandboxWarmPool> & Pick<Store<SandboxWarmPool, SandboxWarmPool>, "get" | "values">;
  templates: EventHandler<SandboxTemplate> & Pick<Store<SandboxTemplate, SandboxTemplate>, "get">;
  /** The NetworkPolicies of templates. */
  policies: EventHandler<KubeObject>;
  /** Whether the watch of Sandboxes has shown all bindings by the previous leader. */
  freshness: Pick<Freshness, "begin" | "isFresh" | "asked">;
  /** Returns everything that decides what the claims of a pool get. */
  snapshot(namespace: string, name: string): PoolSnapshot;
  /** Returns the Sandboxes that a claim controls. */
  controlled(claim: { namespace: string; uid: string }): Controlled;
  /** Removes a Sandbox from its pool until the watch shows a newer version, written by us or by another client. */
  assume(sandbox: Sandbox): void;
  /** Reverts an assumption if the write failed. If the write did succeed, the next write of the Sandbox gets a conflict. */
  release(sandbox: Sandbox): void;
  /** Stores a Sandbox that the API server returned after a write, as if the watch had shown it. */
  written(sandbox: Sandbox): void;
}

/** A pool and its related objects as they are known now; undefined: the object does not exist. */
interface PoolSnapshot {
  pool: SandboxWarmPool | undefined;
  template: SandboxTemplate | undefined;
  /** The object that has the name of the template's NetworkPolicy. */
  policy: KubeObject | undefined;
  /** The members that can be bound to claims; empty if the pool does not exist. */
  members: Members;
}

/** Where a Sandbox belongs: to a pool or to a claim. */
interface Place {
  with: "pool" | "claim";
  namespace: string;
  /** UID of the pool or claim. */
  uid: string;
  /** {@link uidKey} of the pool or claim. */
  key: string;
}

interface State {
  listener: IndexListener;
  pools: Store<SandboxWarmPool, SandboxWarmPool, "template" | "policy">;
  /** By {@link uidKey} of the pool. */
  members: Map<string, Members>;
  /** By UID of the Sandbox. */
  places: Map<string, Place>;
  /** The Sandboxes that claims control, by {@link uidKey} of the claim. */
  controlled: Map<string, Controlled>;
  assumed: Assumptions;
  /** UIDs of Sandboxes that a restore of etcd has set back. No claim gets them, whichever object owns them. */
  returned: Set<string>;
}

const NONE = createMembers();
const UNBOUND = createControlled();

/** Creates an empty index. */
export function createClusterIndex(listener: IndexListener): ClusterIndex {
  const state: State = {
    listener,
    pools: createStore({
      keep: projectPool,
      indexes: {
        template: ({ metadata: { namespace }, spec }) => [`${namespace}/${spec.sandboxTemplateRef.name}`],
        policy: ({ metadata: { namespace }, spec }) => [`${namespace}/${policyName(spec.sandboxTemplateRef.name)}`],
      },
    }),
    members: new Map(),
    places: new Map(),
    controlled: new Map(),
    assumed: createAssumptions(),
    returned: new Set(),
  };
  const versions = createVersions();
  const [freshness, { assumed, pools }] = [createFreshness(), state];
  const templates = createStore({ keep: projectTemplate });
  const policies = createStore({ keep: (policy: KubeObject) => policy });
  /** Notifies the listener about each pool that uses the template, or the template's NetworkPolicy. */
  const changed = (index: "template" | "policy", { namespace = "", name }: ObjectMeta) => {
    for (const { metadata } of pools.byIndex(index, `${namespace}/${name}`)) listener.onPool(namespace, metadata.name);
  };
  pools.onChange((before, after) => {
    const { namespace = "", name, uid = "" } = (after ?? before as SandboxWarmPool).metadata;
    const change = changeOf(before, after);
    if (change === "gone") state.members.delete(uidKey(namespace, uid));
    // A new pool of the same name may exist already.
    if (change === "spec" || (change === "gone" && !pools.get(namespace, name))) listener.onPool(namespace, name);
    else if (change === "counts") listener.onMembers(namespace, name);
  });
  templates.onChange((before, after) => {
    if (changeOf(before, after) !== "other") changed("template", (after ?? before as SandboxTemplate).metadata);
  });
  policies.onChange((before, after) => changed("policy", (after ?? before as KubeObject).metadata));
  return {
    freshness,
    sandboxes: {
      observe(sandbox) {
        freshness.shown(sandbox.metadata.resourceVersion ?? "");
        if (versions.observe(sandbox.metadata)) state.returned.add(sandbox.metadata.uid ?? "");
        if (!assumed.isOld(sandbox)) place(state, sandbox);
      },
      gone(uid) {
        versions.gone(uid);
        sandboxGone(state, uid);
      },
      listing() {
        versions.listing();
        assumed.listing();
        freshness.listing();
      },
      listed(uids, version) {
        versions.listed(version);
        for (const uid of [...state.places.keys()]) {
          if (!uids.has(uid) && !assumed.isSince(uid)) sandboxGone(state, uid);
        }
        for (const sandbox of assumed.listed(uids)) {
          state.returned.add(sandbox.metadata.uid ?? "");
          place(state, sandbox);
        }
        freshness.listed();
      },
    },
    pools,
    templates,
    policies,
    snapshot(namespace, name) {
      const pool = pools.get(namespace, name);
      const template = pool && templates.get(namespace, pool.spec.sandboxTemplateRef.name);
      const policy = template && policies.get(namespace, policyName(template.metadata.name));
      return { pool, template, policy, members: state.members.get(uidKey(namespace, pool?.metadata.uid)) ?? NONE };
    },
    controlled: ({ namespace, uid }) => state.controlled.get(uidKey(namespace, uid)) ?? UNBOUND,
    assume({ metadata: { uid = "", resourceVersion = "" } }) {
      notifyOfLoss(state, takeOut(state, uid));
      assumed.assume(uid, resourceVersion);
    },
    release(sandbox) {
      const { uid = "", resourceVersion = "" } = sandbox.metadata;
      if (assumed.find(uid) !== resourceVersion) return;
      assumed.end(uid);
      place(state, sandbox);
    },
    written(sandbox) {
      place(state, sandbox);
      assumed.assume(sandbox.metadata.uid ?? "", sandbox.metadata.resourceVersion ?? "");
    },
  };
}

/** Stores a Sandbox under its owner. The index is up to date before the listener is notified. */
function place(state: State, sandbox: Sandbox): void {
  const { uid = "", namespace = "" } = sandbox.metadata;
  const owner = controllerOf(sandbox.metadata);
  const [before, found] = [takeOut(state, uid), placeOf(sandbox)];
  // After a restore of etcd, a write may come before the first event: then the version is not lower than the known one.
  if (before?.with === "claim" && found?.with === "pool") state.returned.add(uid);
  const isReturned = found?.with === "pool" && state.returned.has(uid);
  const after = isReturned ? undefined : found;
  if (after) state.places.set(uid, after);
  if (after?.with === "pool") {
    const members = state.members.get(after.key) ?? createMembers();
    state.members.set(after.key, members);
    members.put(projectMember(sandbox));
  } else if (after) {
    const controlled = state.controlled.get(after.key) ?? createControlled();
    state.controlled.set(after.key, controlled);
    controlled.put(sandbox);
    state.listener.onControlled(namespace, after.uid, sandbox);
  }
  if (before && (before.with !== after?.with || before.key !== after.key)) notifyOfLoss(state, before);
  if (isReturned) state.listener.onReturned?.(sandbox);
  if (after?.with === "pool") state.listener.onMembers(namespace, owner?.name ?? "");
}

function placeOf(sandbox: Sandbox): Place | undefined {
  const { namespace = "", labels = {}, deletionTimestamp } = sandbox.metadata;
  const owner = controllerOf(sandbox.metadata);
  const at = { namespace, uid: owner?.uid ?? "", key: uidKey(namespace, owner?.uid) };
  if (owner?.kind === "SandboxClaim") return { with: "claim", ...at };
  const isMember = owner?.kind === "SandboxWarmPool" && deletionTimestamp === undefined &&
    labels[DRAINING_LABEL] === undefined && labels[CLAIM_UID_LABEL] === undefined && forClaim(sandbox) === undefined;
  return isMember ? { with: "pool", ...at } : undefined;
}

/** Removes a Sandbox from its place without notifying the listener. Returns the place; undefined if there was none. */
function takeOut(state: State, uid: string): Place | undefined {
  const before = state.places.get(uid);
  state.places.delete(uid);
  if (!before) return undefined;
  if (before.with === "pool") {
    const members = state.members.get(before.key);
    members?.remove(uid);
    if (!state.pools.byUid(before.uid) && members?.counts().all === 0) state.members.delete(before.key);
    return before;
  }
  const controlled = state.controlled.get(before.key);
  controlled?.remove(uid);
  if (!controlled?.earliest()) state.controlled.delete(before.key);
  return before;
}

/** Notifies the listener that a place has lost a Sandbox; undefined: no place has. */
function notifyOfLoss({ listener, pools }: State, before: Place | undefined): void {
  if (!before) return;
  if (before.with === "claim") return listener.onControlled(before.namespace, before.uid, undefined);
  const pool = pools.byUid(before.uid);
  if (pool?.metadata.namespace === before.namespace) listener.onMembers(before.namespace, pool.metadata.name);
}

function sandboxGone(state: State, uid: string): void {
  state.assumed.end(uid);
  state.returned.delete(uid);
  notifyOfLoss(state, takeOut(state, uid));
}
