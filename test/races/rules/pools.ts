/** What a pool may have at any time, and what its members are called. @module */
import type { MemoryStore, StoredChange } from "../../../packages/testing/store/memory.ts";
import { WARM_POOL_LABEL } from "../../../packages/api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../../../packages/api/objects/objects.ts";
import { claimOf, LATE_MS } from "../shown.ts";
import type { Notice, Say } from "../surroundings.ts";

/** What is known of a pool; times in milliseconds since the epoch. */
interface Population {
  /** UIDs of the Sandboxes that it controls, those too that are marked or being deleted. */
  owned: Set<string>;
  /** What its spec has said, and until when; of the last one Infinity. */
  wanted: { replicas: number; until: number }[];
  /** When Sandboxes ceased to be its own: gone, or a claim's. */
  left: number[];
}

/**
 * A new member does not bring a pool beyond its replicas plus surge. The process that makes it may act on a view that
 * is `LATE_MS` old: replicas are the most that were wanted since, and surge is as many as have left the pool since.
 *
 * @param engines how many make members: each makes what it does not see that the other has made, and the other's answers
 * revert what its own say of that
 */
export function populationRule(
  { clock }: MemoryStore,
  say: Say,
  engines: number,
): (change: StoredChange) => void {
  const pools = new Map<string, Population>();
  const owners = new Map<string, string>();
  const populationOf = (uid: string): Population => {
    const found = pools.get(uid) ?? { owned: new Set(), wanted: [], left: [] };
    pools.set(uid, found);
    return found;
  };
  const limitOf = ({ wanted, left }: Population) => {
    const since = clock.now() - LATE_MS;
    const replicas = Math.max(...wanted.filter(({ until }) => until >= since).map(({ replicas }) => replicas));
    return engines * replicas + left.filter((time) => time >= since).length;
  };
  function poolChanged({ metadata, spec }: KubeObject): void {
    const { wanted } = populationOf(metadata.uid ?? "");
    const last = wanted.at(-1);
    const { replicas } = spec as { replicas: number };
    if (last?.replicas === replicas) return;
    if (last) last.until = clock.now();
    wanted.push({ replicas, until: Infinity });
  }
  return ({ object, old, isGone }) => {
    if (object.kind === "SandboxWarmPool") return poolChanged(object);
    if (object.kind !== "Sandbox") return;
    const { uid = "" } = object.metadata;
    const owner = isGone ? undefined : controllerOf(object.metadata);
    const after = owner?.kind === "SandboxWarmPool" ? owner : undefined;
    const before = owners.get(uid);
    if (before !== undefined && before !== after?.uid) {
      populationOf(before).owned.delete(uid);
      populationOf(before).left.push(clock.now());
      owners.delete(uid);
    }
    if (!after) return;
    owners.set(uid, after.uid);
    const population = populationOf(after.uid);
    population.owned.add(uid);
    const count = population.owned.size;
    if (!old && count > limitOf(population)) {
      say(`pool ${after.name} has ${count} Sandboxes, at most ${limitOf(population)} are wanted`);
    }
  };
}

/**
 * No member has the name of one that a claim was given, or that Metacontroller has deleted. Not for runs with two
 * Metacontrollers: one with an older view of the pool's status counts from an earlier number, and asks for the names
 * of Sandboxes that the other has created and that are gone by now.
 */
export function nameRule(say: Say): Notice {
  const used = new Set<string>();
  return (before, after, verb) => {
    const { kind, metadata } = after ?? before ?? { kind: "", metadata: { name: "" } };
    if (kind !== "Sandbox") return;
    const isMember = metadata.labels?.[WARM_POOL_LABEL] !== undefined;
    if (!before && isMember && used.has(metadata.name)) say(`Sandbox ${metadata.name} was made a second time`);
    if (verb === "delete" || (after && claimOf(after))) used.add(metadata.name);
  };
}
