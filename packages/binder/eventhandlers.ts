/** Handles the events of the binder's watches: stores claims, reconciles them, and schedules those that wait. @module */
import { isEnd, isReachable } from "../api/claims/binding.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import type { EventHandler } from "../kube/watch.ts";
import { isNewer } from "./assume.ts";
import { reconcile, withdraw } from "./reconcile.ts";
import { type Binder, createQueuedClaim, dropTimers, dropUnread, isServing, noteLoss, sharing } from "./state.ts";
import { schedule } from "./schedule.ts";
import { projectEnd } from "./store.ts";

/** Looks at all that is there, once everything is known and this process leads. */
export function begin(binder: Binder): void {
  if (!isServing(binder)) return;
  for (const pool of binder.index.all()) {
    // What a binder before this one has handed over, it may not have told of.
    if ((pool.status?.replicas ?? 0) > binder.index.members(pool).counts().all) noteLoss(binder, pool);
    binder.refills.look(pool.metadata.namespace ?? "", pool.metadata.name);
  }
  for (const entry of binder.claims.values()) reconcile(binder, entry);
  schedule(binder);
}

/** Takes note of claims as they were observed, untouched by a parser. */
export function claimHandler(binder: Binder): EventHandler<SandboxClaim> {
  const gone = (uid: string) => {
    const entry = binder.claims.get(uid);
    binder.claims.delete(uid);
    if (!entry) return;
    dropTimers(entry);
    withdraw(binder, entry);
  };
  return {
    listing() {
      // A list is right, even if it is older than what was written since.
      for (const entry of binder.claims.values()) entry.assumed = undefined;
    },
    observe(raw) {
      const parsed = sandboxClaimSchema.safeParse(raw).data;
      const { uid = "", generation, resourceVersion: version = "" } = raw.metadata;
      // After a restore of etcd, nothing holds any more that this process knows of the claim.
      if (!parsed || isNewer(binder.claims.get(uid)?.version ?? "", version)) gone(uid);
      if (!parsed) return;
      const claim = sharing(parsed, raw);
      const before = binder.claims.get(uid);
      const pool = claim.spec.warmPoolRef.name;
      if (before && before.pool !== pool) withdraw(binder, before);
      const entry = before ?? createQueuedClaim(claim, raw, binder.clock.now());
      if (entry.claim.metadata.generation !== generation) {
        entry.refused = [];
      }
      binder.claims.set(uid, entry);
      entry.version = version;
      if (entry.assumed !== undefined && isNewer(entry.assumed, version)) return;
      Object.assign(entry, { claim, raw, pool, assumed: undefined });
      dropUnread(entry, false);
      reconcile(binder, entry);
      schedule(binder);
    },
    gone,
  };
}

/** Serves those who wait for this pool: it or its template has changed. */
export function poolChanged(binder: Binder, namespace: string, pool: string): void {
  if (!binder.index.pool(namespace, pool)) binder.untold.delete(`${namespace}/${pool}`);
  if (!isServing(binder)) return;
  for (const entry of [...binder.unschedulable.get(`${namespace}/${pool}`) ?? []]) reconcile(binder, entry);
  membersChanged(binder, namespace, pool);
}

/** Serves those who wait for members of this pool: they have changed, or have been counted. */
export function membersChanged(binder: Binder, namespace: string, pool: string): void {
  if (!isServing(binder)) return;
  for (const entry of [...binder.awaitingMember.get(`${namespace}/${pool}`) ?? []]) reconcile(binder, entry);
  binder.refills.look(namespace, pool);
  if (binder.queue.wake(namespace, pool)) schedule(binder);
}

/** Takes note that a Sandbox which a claim controls has come, changed or, undefined, gone. */
export function controlledChanged(binder: Binder, namespace: string, uid: string, sandbox: Sandbox | undefined): void {
  const entry = binder.claims.get(uid);
  if (entry?.claim.metadata.namespace !== namespace) return;
  if (sandbox) {
    if (isReachable(sandbox)) {
      entry.starting?.end();
      entry.starting = undefined;
    }
    if (isEnd(sandbox.status?.conditions)) entry.ended = projectEnd(sandbox);
    else if (entry.ended?.metadata.name === sandbox.metadata.name) entry.ended = undefined;
  }
  reconcile(binder, entry, sandbox);
  schedule(binder);
}
