/** Returns Sandboxes that another controller or a user has released to the pools and claims that they belong to. @module */
import { EXTENSIONS_GROUP } from "../api/crd.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { Api } from "../kube/api.ts";
import { findObject, type MetadataChange, patchOf, sendPatch } from "../kube/requests.ts";
import type { EventHandler } from "../kube/watch.ts";
import { LAST_APPLIED_ANNOTATION } from "../api/objects/apply.ts";
import {
  CLAIM_CONTROLLER,
  CLAIM_UID_LABEL,
  CONTROLLER_UID_LABEL,
  DECORATOR_ANNOTATION,
  WARM_POOL_LABEL,
} from "../api/objects/keys.ts";
import { controllerOf, groupOf, type ObjectMeta, type OwnerReference } from "../api/objects/objects.ts";
import { kubeObjectSchema } from "../api/objects/schemas.ts";
import type { ReconcileQueue, Reconciler } from "../kube/reconcilequeue.ts";
import type { Report } from "./reconciler.ts";
import { hashKey, type References, type Referred } from "./references.ts";
import { createWaiting, requeueOnChange } from "./watches.ts";

/**
 * Returns the pool of an orphaned Sandbox according to its labels, as the hash of the name; undefined: not an orphan of
 * a pool.
 */
function orphanOf({ metadata }: Sandbox): string | undefined {
  const { labels = {}, deletionTimestamp } = metadata;
  // A Sandbox that a claim has used must not return to a pool. It is left alone: its user may still need the contents.
  const isLeftAlone = deletionTimestamp !== undefined || labels[CLAIM_UID_LABEL] !== undefined;
  return isLeftAlone || controllerOf(metadata) ? undefined : labels[WARM_POOL_LABEL];
}

/**
 * Returns the label with which Metacontroller adopts an orphan for the pool; undefined: the orphan has it already. The
 * last-applied annotation is removed, so that the pool compares the Sandbox itself.
 */
function poolChange(orphan: ObjectMeta, pool: { uid: string }): MetadataChange | undefined {
  const isLabelled = orphan.labels?.[CONTROLLER_UID_LABEL] === pool.uid;
  const labels = { [CONTROLLER_UID_LABEL]: pool.uid };
  return isLabelled ? undefined : { labels, annotations: { [LAST_APPLIED_ANNOTATION]: null } };
}

/** The change that returns a Sandbox to the claim that controls it, if the claim still exists. */
interface ClaimReturn {
  owner: OwnerReference;
  change: MetadataChange;
}

/**
 * Returns the change after which Metacontroller sees a claim's Sandbox as its attachment; undefined: it does already,
 * or no claim controls the Sandbox.
 */
function claimReturn({ metadata }: Sandbox): ClaimReturn | undefined {
  const owner = extensionOwner(metadata);
  const isSeen = metadata.annotations?.[DECORATOR_ANNOTATION] === CLAIM_CONTROLLER;
  if (owner?.kind !== "SandboxClaim" || isSeen || metadata.deletionTimestamp !== undefined) return undefined;
  return { owner, change: { annotations: { [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER } } };
}

interface ReadoptOptions {
  api: Api;
  report: Report;
  references: References;
}

/** Creates the reconciler. It sends no request for a Sandbox that a hook of hookbox has created. */
export function readoptReconciler({ api, report, references: { pools } }: ReadoptOptions): Reconciler<Sandbox> {
  /** The state that was handled: the resourceVersion and the pool. */
  const memory = new Map<string, string>();
  const poolOf = (sandbox: Sandbox): Referred | undefined => {
    const hash = orphanOf(sandbox);
    if (hash === undefined) return undefined;
    const found = pools.byIndex("hash", hashKey(sandbox.metadata.namespace, hash));
    for (const pool of found) if (!pool.isBeingDeleted) return pool;
    return undefined;
  };
  const planOf = (sandbox: Sandbox): MetadataChange | ClaimReturn | undefined => {
    const pool = poolOf(sandbox);
    return pool ? poolChange(sandbox.metadata, pool) : claimReturn(sandbox);
  };
  const stateOf = (sandbox: Sandbox) => `${sandbox.metadata.resourceVersion} ${poolOf(sandbox)?.uid}`;
  return {
    name: "readoption",
    memory,
    listing: () => memory.clear(),
    dueAt(sandbox, now) {
      if (!planOf(sandbox) || memory.get(sandbox.metadata.uid ?? "") === stateOf(sandbox)) return undefined;
      return now;
    },
    async reconcile(sandbox) {
      const { metadata } = sandbox;
      const plan = planOf(sandbox);
      const state = stateOf(sandbox);
      const change = plan && "owner" in plan ? await confirmed(api, sandbox, plan) : plan;
      const target = { kind: "Sandbox", resource: "sandboxes", metadata } as const;
      const isGiven = change && await sendPatch(api, target, patchOf(metadata, change));
      memory.set(metadata.uid ?? "", state);
      if (isGiven) report("adopted", metadata, { kind: "Sandbox", child: metadata.name });
    },
  };
}

/** Returns the event handler of the reconciler's queue. It requeues orphans when pools are created or deleted. */
export function withPools(queue: ReconcileQueue<Sandbox>, { pools }: References): EventHandler<Sandbox> {
  const waiting = createWaiting(queue, (sandbox: Sandbox) => {
    const hash = orphanOf(sandbox);
    return hash === undefined ? undefined : hashKey(sandbox.metadata.namespace, hash);
  });
  requeueOnChange(waiting, pools, ({ namespace, hash }) => hashKey(namespace, hash));
  return waiting;
}

/** Confirms that the claim exists. If it is gone or being deleted, the garbage collector deletes the Sandbox. */
async function confirmed(
  api: Api,
  sandbox: Sandbox,
  { owner, change }: ClaimReturn,
): Promise<MetadataChange | undefined> {
  const { namespace } = sandbox.metadata;
  const claim = await findObject(api, { resource: "sandboxclaims", namespace, name: owner.name }, kubeObjectSchema);
  const isAlive = claim?.metadata.uid === owner.uid && claim.metadata.deletionTimestamp === undefined;
  return isAlive ? change : undefined;
}

/** Returns the SandboxWarmPool or SandboxClaim that controls a Sandbox; undefined: another object or none does. */
export function extensionOwner(
  metadata: ObjectMeta,
): OwnerReference & { kind: "SandboxWarmPool" | "SandboxClaim" } | undefined {
  const owner = controllerOf(metadata);
  if (!owner || groupOf(owner.apiVersion) !== EXTENSIONS_GROUP) return undefined;
  const { kind } = owner;
  return kind === "SandboxWarmPool" || kind === "SandboxClaim" ? { ...owner, kind } : undefined;
}
