/**
 * Members that take the places of those that are handed over: made at once, so that a pool that is in use needs no sync of
 * all its members for each. The shape of members is the pool hook's: where that makes them otherwise, they are left to it, and
 * the pool is told what it lacks.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { buildMember, type PoolSandbox } from "../../hooks/sandboxwarmpool/sandbox.ts";
import { placeOf, replacementName } from "../../hooks/sandboxwarmpool/sequence.ts";
import { isOk, pathOf } from "../kube/api.ts";
import { applyCreate, lastApplied, sameJson } from "../api/objects/apply.ts";
import { CONTROLLER_UID_LABEL, HANDED_OVER_AT_ANNOTATION, WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import { errorFields } from "../process/log.ts";
import { type Choice, policyProblem } from "./filter.ts";
import { type Binder, isServing, noteLoss, type QueuedClaim } from "./state.ts";
import type { Shortage } from "./refills.ts";
import { isProjection } from "./store.ts";

/**
 * Returns the member that takes another one's place, for a POST, as Metacontroller would make it.
 *
 * @param member as it was before it was handed over
 * @returns undefined: the pool's hook would make another one now, because template, pool or hook have changed
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
      // Metacontroller adds it to all children of a pool.
      labels: { ...metadata.labels, [CONTROLLER_UID_LABEL]: pool.metadata.uid ?? "" },
    },
  });
  const isUpToDate = uid !== "" &&
    sameJson(lastApplied(member), asApplied(buildMember(pool, template, name, placeOf(member))));
  if (!isUpToDate) return undefined;
  return applyCreate(asApplied(buildMember(pool, template, replacementName(pool, member)))) as PoolSandbox;
}

/**
 * Counts the replacement of a member that is being handed over among the pool's members from now on, so that the pool is
 * not told to make one, too.
 *
 * @returns what makes it, see {@link replace}; undefined: claims wait, which go first, so that it is left to the pool
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
 * Makes the replacement of a member that a claim was given, once the claim names it, if nobody waits and the pool has too
 * few without it; what is not made here the pool makes, as soon as it is told. Never throws.
 */
async function replace(
  binder: Binder,
  { reporting }: QueuedClaim,
  { sandbox, pool: { metadata } }: Extract<Choice, { kind: "member" }>,
): Promise<void> {
  await reporting;
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
    // What is refused is made, or told of, by the pool.
    if (answer && isOk(answer)) index.written(answer.body as Sandbox);
  } catch (error) {
    const { name } = sandbox.metadata;
    log("warn", "Cannot replace a member: its pool will", { namespace, name, ...errorFields(error) });
  }
}

/** Tells whether claims wait, of this pool or, to be served now, of any: each costs what a replacement does. */
function isCrowded({ queue, clock }: Binder, { metadata: { namespace = "", name } }: SandboxWarmPool): boolean {
  const now = clock.now();
  const isWaitedFor = queue.find(namespace, name)?.waiters.some(({ notBefore }) => notBefore <= now) === true;
  return isWaitedFor || queue.pending() > 0;
}

/** Returns how a pool stands; undefined: it is gone. */
export function shortageOf(binder: Binder, namespace: string, name: string): Shortage | undefined {
  const { index, queue, templateNetworkPolicy, replacing, untold, binderWorkers } = binder;
  const { pool, template, policy, members } = index.snapshot(namespace, name);
  if (!pool) return undefined;
  const { all, ready } = members.counts();
  const { replicas = 0, readyReplicas = 0 } = pool.status ?? {};
  return {
    pool,
    // A pool cannot make members while the policy of its template is not in force.
    hasTemplate: template !== undefined &&
      policyProblem(policy, templateNetworkPolicy, template) === undefined,
    hasLost: untold.has(`${namespace}/${name}`),
    members: all + (replacing.get(pool.metadata.uid ?? "") ?? 0),
    ready,
    waiting: queue.find(namespace, name)?.waiters.length ?? 0,
    isBusy: queue.pending() > binderWorkers,
    isBehind: replicas !== all || readyReplicas < ready,
  };
}

/** Wakes the pool, and says whether it has lost members to claims: Metacontroller does not, where one changes hands. */
export async function tellPool(binder: Binder, pool: SandboxWarmPool): Promise<void> {
  const { api, log, clock, untold } = binder;
  const { namespace, name, uid } = pool.metadata;
  const hasLost = untold.delete(`${namespace}/${name}`);
  const key = hasLost ? HANDED_OVER_AT_ANNOTATION : WOKEN_AT_ANNOTATION;
  const body = { metadata: { uid, annotations: { [key]: new Date(clock.now()).toISOString() } } };
  const path = pathOf({ resource: "sandboxwarmpools", namespace, name });
  try {
    const answer = await api.send({ method: "PATCH", path, body });
    if (isOk(answer) || answer.status === 404 || answer.status === 409) return;
    log("warn", "Cannot tell a pool that it is short", { namespace, name, status: answer.status });
  } catch (error) {
    log("warn", "Cannot tell a pool that it is short", { namespace, name, ...errorFields(error) });
  }
  if (hasLost) noteLoss(binder, pool);
}
