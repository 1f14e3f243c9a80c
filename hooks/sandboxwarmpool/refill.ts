/** Decides how many members a pool creates now, and when it checks again. @module */
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import { SHORTEST_RESYNC_SECONDS } from "../../packages/webhook/metacontroller.ts";
import type { WarmPoolConfig } from "../flags.ts";
import { cautionOf, IN_FLIGHT_MS, inFlight, isTold, toldMissing } from "./batches.ts";
import { ownedBy, type View } from "./view.ts";

/** How many members to create now, and after how many seconds to create the rest; undefined: there is no rest. */
export interface Refill {
  count: number;
  again?: number;
}

/** After this many seconds, the binder has replaced the members that it has bound. */
const REPLACED_SECONDS = 1;

/**
 * Decides how many members to create. Source: Agent Sandbox API, section 3.3.4.
 *
 * Every Sandbox of the pool counts until it is gone. Members that were created a moment ago and are not observed yet
 * count too. So the pool never creates more members than `spec.replicas` asks for.
 */
export function refillOf(view: View, config: WarmPoolConfig, now: Date): Refill {
  const { pool, members, draining, terminating, returned } = view;
  const owned = ownedBy(view);
  const flying = inFlight(pool, owned, now);
  const missing = pool.spec.replicas - members.length - draining.length - terminating.length - returned.length - flying;
  const deficit = Math.min(missing, missedBefore(pool, config, now));
  const landing = flying > 0 ? { again: IN_FLIGHT_MS / 1000 } : {};
  const later = deficit < missing ? { again: REPLACED_SECONDS } : landing;
  if (!view.template || isUnfenced(view, config)) return { count: 0, ...landing };
  if (deficit <= 0) return { count: 0, ...later };

  const { most, notBefore } = cautionOf(pool, owned, now);
  const held = Math.max(heldFor(lostAt(view, config, now), config, now), (notBefore - now.getTime()) / 1000);
  if (held > 0) return { count: 0, again: held };
  const count = Math.min(deficit, most, config.maxBatchSize, allowance(pool.status, config, now));
  if (count === deficit) return { count, ...later };
  if (count === most) return { count, again: IN_FLIGHT_MS / 1000 };
  return { count, again: count > 0 && config.maxRefillRate === 0 ? SHORTEST_RESYNC_SECONDS : 1 / config.maxRefillRate };
}

/** Tells whether no member may be created because the template's NetworkPolicy is not in force. */
export function isUnfenced(
  { policyFault }: View,
  { templateNetworkPolicy }: Pick<WarmPoolConfig, "templateNetworkPolicy">,
): boolean {
  return policyFault !== undefined && templateNetworkPolicy === "required";
}

/**
 * Returns how many members were already missing at the last answer. The binder may have bound those that have
 * disappeared since then, and may be about to replace them (packages/binder/replacements.ts). If it has reported since
 * then that it does not replace some, these count, too. The result is Infinity, so that all missing members count, if
 * the spec is new, or if only the pool creates members.
 */
function missedBefore(pool: SandboxWarmPool, config: WarmPoolConfig, now: Date): number {
  const { metadata, spec, status } = pool;
  const isNew = !status || status.observedGeneration !== metadata.generation;
  if (isNew || isLimited(config)) return Infinity;
  const told = isTold(pool, status.batches?.at(-1)?.at, now) ? toldMissing(pool) : 0;
  return Math.max(told, spec.replicas - (status.replicas ?? 0));
}

/** Tells whether the rate of new members is limited. Then only the pool creates members, not the binder. */
export function isLimited({ maxRefillRate, replenishDelaySeconds }: WarmPoolConfig): boolean {
  return maxRefillRate > 0 || replenishDelaySeconds > 0;
}

/** Returns when the pool last lost a member; undefined: it never did, or its refills do not wait after a loss. */
export function lostAt(
  { pool, members }: View,
  { replenishDelaySeconds }: WarmPoolConfig,
  now: Date,
): string | undefined {
  if (replenishDelaySeconds === 0) return undefined;
  const isFewer = members.length < (pool.status?.replicas ?? 0);
  return isFewer ? now.toISOString() : pool.status?.lostAt;
}

function heldFor(lost: string | undefined, { replenishDelaySeconds }: WarmPoolConfig, now: Date): number {
  return lost === undefined ? 0 : (Date.parse(lost) - now.getTime()) / 1000 + replenishDelaySeconds;
}

/**
 * Returns how many members the rate allows now: as many as have accumulated since the last batch, at most those of one
 * second.
 */
function allowance(
  status: SandboxWarmPoolStatus | undefined,
  { maxRefillRate }: WarmPoolConfig,
  now: Date,
): number {
  if (maxRefillRate === 0) return Infinity;
  const most = Math.max(1, maxRefillRate);
  const seconds = (now.getTime() - Date.parse(status?.batches?.at(-1)?.at ?? "")) / 1000;
  return Math.floor(Number.isNaN(seconds) ? most : Math.min(most, seconds * maxRefillRate));
}
