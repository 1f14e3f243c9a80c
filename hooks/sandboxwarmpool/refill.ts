/** How many members a pool makes now, and when it looks again. @module */
import type { WarmPoolConfig } from "./config.ts";
import { isReady } from "./memberstate.ts";
import { forClaim } from "./sandbox.ts";
import type { PoolMemory } from "./memory.ts";
import { SOON } from "./nextlook.ts";
import { inFlight } from "./sequence.ts";
import type { View } from "./view.ts";

/** What to make, and how many seconds later the rest; undefined: there is no rest. */
export interface Refill {
  count: number;
  again?: number;
}

/** A pool that has Ready members makes few at once: children are written one by one, and a claim would wait for them. */
const FEW = 3;
const MANY = 30;
const A_MOMENT = 1;

/**
 * Decides how many members to make. Source: Agent Sandbox API, section 3.3.4.
 *
 * Everything of the pool's counts until it is gone, and so does what was made a moment ago and has not shown up yet: the
 * population never goes beyond what is wanted.
 *
 * @param isServing a few at most: claims are being served by the same answer
 */
export function refillOf(
  view: View,
  config: WarmPoolConfig,
  memory: PoolMemory,
  isServing: boolean,
  now: Date,
): Refill {
  const { pool, members, draining, terminating, returned } = view;
  const leaving = [...draining, ...terminating].filter((sandbox) => forClaim(sandbox) === undefined);
  const handed = new Set([...memory.assignments.values()].map(({ name }) => name));
  const flying = inFlight([...members, ...leaving], handed, pool, now);
  const deficit = pool.spec.replicas - members.length - leaving.length - returned.length - flying;
  if (!view.template || deficit <= 0) return { count: 0, ...(flying > 0 ? { again: A_MOMENT } : {}) };

  const held = heldFor(memory, config, now);
  if (held > 0) return { count: 0, again: held };
  const batch = isServing || members.some(isReady) ? FEW : MANY;
  const count = Math.min(deficit, batch, config.maxBatchSize, tokens(memory, config, now));
  if (config.maxRefillRate > 0) memory.tokens -= count;
  if (count === deficit) return { count, ...(flying > 0 ? { again: A_MOMENT } : {}) };
  return { count, again: count > 0 ? SOON : 1 / config.maxRefillRate };
}

/** Takes note of how many members there are; fewer than before starts the delay. The first look never does. */
export function noteMembers(memory: PoolMemory, count: number, now: Date): void {
  if (count < memory.active) memory.droppedAt = now.getTime();
  memory.active = count;
}

function heldFor({ droppedAt }: PoolMemory, { replenishDelaySeconds }: WarmPoolConfig, now: Date): number {
  if (replenishDelaySeconds === 0) return 0;
  return (droppedAt - now.getTime()) / 1000 + replenishDelaySeconds;
}

/** A bucket that starts full and holds what a second brings, one at least. */
function tokens(memory: PoolMemory, { maxRefillRate }: WarmPoolConfig, now: Date): number {
  if (maxRefillRate === 0) return Infinity;
  const gained = ((now.getTime() - memory.tokensAt) / 1000) * maxRefillRate;
  memory.tokens = Math.min(memory.tokens + gained, Math.max(1, maxRefillRate));
  memory.tokensAt = now.getTime();
  return Math.floor(memory.tokens);
}
