/**
 * Creates the member that replaces one which was bound. Because the binder creates it at once, a busy pool needs no
 * sync of all its members for each binding. Only the pool's hook decides what members look like: if the hook would now
 * create a different member, the binder notifies the pool instead.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { buildMember, type PoolSandbox } from "../../hooks/sandboxwarmpool/sandbox.ts";
import { placeOf, replacementName } from "../../hooks/sandboxwarmpool/sequence.ts";
import { isOk, pathOf } from "../kube/api.ts";
import { applyCreate, lastApplied, sameJson } from "../api/objects/apply.ts";
import {
  CONTROLLER_UID_LABEL,
  HANDED_OVER_AT_ANNOTATION,
  MISSING_MEMBERS_ANNOTATION,
  WOKEN_AT_ANNOTATION,
} from "../api/objects/keys.ts";
import { errorFields } from "../process/log.ts";
import { type Choice, policyProblem } from "./filter.ts";
import { type Binder, isServing, type QueuedClaim, recordLoss } from "./state.ts";
import type { Shortage } from "./refills.ts";
import { isProjection } from "./store.ts";

/**
 * Returns the replacement of a member, for a POST, as Metacontroller would create it.
 *
 * @param member the member before it was bound
 * @returns undefined if the pool's hook would now create a different member, because the template, the pool or the hook
 *   has changed
 * @throws {SyntaxError} if the last-applied annotation is not the JSON text of an object
 */
export function replacementOf(
  member: Sandbox,
  pool: SandboxWarmPool,
  template: SandboxTemplate,
): PoolSandbox | undefined {
  const { name, namespace = "", uid = "" } = member.metadata;
  const asApplied = ({ metadata, ...rest }: PoolSandbox): PoolSandbox => ({
    ...rest,
    metadata: {
      ...metadata,
      namespace,
      // Metacontroller adds this label to all children of a pool.
      labels: { ...metadata.labels, [CONTROLLER_UID_LABEL]: pool.metadata.uid ?? "" },
    },
  });
  const isUpToDate = uid !== "" &&
    sameJson(lastApplied(member), asApplied(buildMember(pool, template, name, placeOf(member))));
  if (!isUpToDate) return undefined;
  return applyCreate(asApplied(buildMember(pool, template, replacementName(pool, member)))) as PoolSandbox;
}

/**
 * Counts the replacement of a member that is being bound as one of the pool's members from now on. Otherwise the pool
 * would be notified to create one as well.
 *
 * @returns a function that creates the replacement, see {@link replace}; undefined if claims are waiting: they go
 *   first, and the pool creates the replacement
 */
export function expectReplacement(
  binder: Binder,
  choice: Extract<Choice, { kind: "member" }>,
): ((entry: QueuedClaim) => Promise<void>) | undefined {
  const { namespace = "", name, uid = "" } = choice.pool.metadata;
  if (isCrowded(binder, choice.pool)) return undefined;
  const { replacing, refills } = binder;
  replacing.set(uid, (replacing.get(uid) ?? 0) + 1);
  return async (entry) => {
    await replace(binder, entry, choice);
    const left = (replacing.get(uid) ?? 1) - 1;
    if (left > 0) replacing.set(uid, left);
    else replacing.delete(uid);
    refills.look(namespace, name);
  };
}

/**
 * Creates the replacement of a bound member after the status of the claim has been written, if no claims wait and the
 * pool lacks a member. Otherwise the pool creates it after its next notification. Never rejects.
 */
async function replace(
  binder: Binder,
  entry: QueuedClaim,
  { sandbox, pool: { metadata } }: Extract<Choice, { kind: "member" }>,
): Promise<void> {
  // A new Pod takes processor time, for which the client would wait.
  await entry.delivery.underway;
  await entry.reporting;
  const { api, index, log, replacing } = binder;
  const { namespace = "", uid = "" } = metadata;
  const { pool, template, policy, members } = index.snapshot(namespace, metadata.name);
  if (
    !isServing(binder) || !pool || !template || isProjection(template) ||
    policyProblem(policy, binder.templateNetworkPolicy, template) !== undefined ||
    pool.metadata.deletionTimestamp !== undefined
  ) return;
  if (isCrowded(binder, pool)) return;
  if (members.counts().all + (replacing.get(uid) ?? 0) > pool.spec.replicas) return;
  try {
    const body = replacementOf(sandbox, pool, template);
    const answer = body && await api.send({ method: "POST", path: pathOf({ resource: "sandboxes", namespace }), body });
    // If the request is refused, the pool tries to create the member, and reports the problem.
    if (answer && isOk(answer)) index.written(answer.body as Sandbox);
  } catch (error) {
    const { name } = sandbox.metadata;
    log("warn", "Cannot replace a member: its pool will", { namespace, name, ...errorFields(error) });
  }
}

/**
 * Returns whether claims wait that can be served: in the queue of any pool, or those of this pool while it has Ready
 * members. Serving one costs as much as a replacement, and goes first. Claims of an empty pool need the replacement.
 */
function isCrowded({ queue, index, clock }: Binder, { metadata: { namespace = "", name } }: SandboxWarmPool): boolean {
  if (queue.pending() > 0) return true;
  const now = clock.now();
  const isWaitedFor = queue.find(namespace, name)?.waiters.some(({ notBefore }) => notBefore <= now) === true;
  return isWaitedFor && index.snapshot(namespace, name).members.counts().ready > 0;
}

/** Returns the state of a pool that decides whether it needs a notification; undefined if the pool is gone. */
export function shortageOf(binder: Binder, namespace: string, name: string): Shortage | undefined {
  const { index, queue, templateNetworkPolicy, replacing, unreportedLosses, binderWorkers } = binder;
  const { pool, template, policy, members } = index.snapshot(namespace, name);
  if (!pool) return undefined;
  const { all, ready } = members.counts();
  const { replicas = 0, readyReplicas = 0 } = pool.status ?? {};
  return {
    pool,
    // A pool cannot create members while the policy of its template is not in force.
    hasTemplate: template !== undefined &&
      policyProblem(policy, templateNetworkPolicy, template) === undefined,
    hasLost: unreportedLosses.has(`${namespace}/${name}`),
    members: all + (replacing.get(pool.metadata.uid ?? "") ?? 0),
    ready,
    waiting: queue.find(namespace, name)?.waiters.length ?? 0,
    isBusy: queue.pending() > binderWorkers,
    isBehind: replicas !== all || readyReplicas < ready,
  };
}

/**
 * Triggers a sync of the pool by an annotation, which also tells whether it has lost members to claims, and how many of
 * them the binder does not replace. Metacontroller does not sync the pool when a member's owner changes.
 */
export async function requeuePool(binder: Binder, { pool, members }: Shortage): Promise<void> {
  const { api, log, clock, unreportedLosses } = binder;
  const { namespace, name, uid } = pool.metadata;
  const hasLost = unreportedLosses.delete(`${namespace}/${name}`);
  const at = new Date(clock.now()).toISOString();
  const missing = String(Math.max(0, pool.spec.replicas - members));
  const annotations = hasLost
    ? { [HANDED_OVER_AT_ANNOTATION]: at, [MISSING_MEMBERS_ANNOTATION]: missing }
    : { [WOKEN_AT_ANNOTATION]: at };
  const body = { metadata: { uid, annotations } };
  const path = pathOf({ resource: "sandboxwarmpools", namespace, name });
  try {
    const answer = await api.send({ method: "PATCH", path, body });
    if (isOk(answer) || answer.status === 404 || answer.status === 409) return;
    log("warn", "Cannot requeue a pool that has too few members", { namespace, name, status: answer.status });
  } catch (error) {
    log("warn", "Cannot requeue a pool that has too few members", { namespace, name, ...errorFields(error) });
  }
  if (hasLost) recordLoss(binder, pool);
}
