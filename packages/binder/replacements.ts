/**
 * Members that take the places of those that are handed over: made at once, so that a pool that is in use needs no sync of
 * all its members for each. The shape of members is the pool hook's: where that makes them otherwise, they are left to it.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { buildMember, type PoolSandbox } from "../../hooks/sandboxwarmpool/sandbox.ts";
import { placeOf, replacementName } from "../../hooks/sandboxwarmpool/sequence.ts";
import { pathOf } from "../kube/api.ts";
import { applyCreate, lastApplied, sameJson } from "../api/objects/apply.ts";
import { CONTROLLER_UID_LABEL } from "../api/objects/keys.ts";
import { errorFields } from "../process/log.ts";
import type { Choice } from "./choose.ts";
import { type Binder, type Entry, isServing } from "./state.ts";

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
 * Makes the replacement of a member that a claim was given, once the claim is told, if nobody waits and the pool has too
 * few without it; what is not made here the pool makes, as soon as it is told. Never throws.
 */
export async function replace(
  binder: Binder,
  { telling }: Entry,
  { sandbox, pool: { metadata } }: Extract<Choice, { kind: "member" }>,
): Promise<void> {
  await telling;
  const { api, clock, index, lines, log, replacing } = binder;
  const { namespace = "", uid = "" } = metadata;
  const pool = index.pool(namespace, metadata.name);
  const template = pool && index.template(pool);
  if (!isServing(binder) || !template || pool.metadata.deletionTimestamp !== undefined) return;
  const now = clock.now();
  const isWaitedFor = lines.find(namespace, metadata.name)?.waiters.some(({ notBefore }) => notBefore <= now) === true;
  if (isWaitedFor || lines.pending() > 0) return;
  const coming = replacing.get(uid) ?? 0;
  if (index.members(pool).counts().all + coming >= pool.spec.replicas) return;
  replacing.set(uid, coming + 1);
  try {
    const body = replacementOf(sandbox, pool, template);
    // What is refused is made, or told of, by the pool.
    if (body) await api.send({ method: "POST", path: pathOf({ resource: "sandboxes", namespace }), body });
  } catch (error) {
    const { name } = sandbox.metadata;
    log("warn", "Cannot replace a member: its pool will", { namespace, name, ...errorFields(error) });
  }
  const left = (replacing.get(uid) ?? 1) - 1;
  if (left > 0) replacing.set(uid, left);
  else replacing.delete(uid);
}
