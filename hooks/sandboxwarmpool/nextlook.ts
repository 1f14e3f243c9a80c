/** When a pool has to be looked at again although nothing has told so. @module */
import type { Allocation } from "./allocate.ts";
import { isReady } from "./memberstate.ts";
import type { WarmPoolConfig } from "./config.ts";
import { graceEnds, isHopeless } from "./drain.ts";
import type { PoolMemory } from "./memory.ts";
import type { Refill } from "./refill.ts";
import type { View } from "./view.ts";

/** What an answer leaves open. */
export interface Open {
  view: View;
  allocation: Allocation;
  refill: Refill;
  memory: PoolMemory;
}

/** At once, in seconds: only so late that the answer has been carried out. */
export const SOON = 0.03;
const SHORTLY = 0.2;
const LATER = 1;
const RECHECK_SECONDS = 60;

/**
 * Returns the seconds until the soonest of what time alone brings about; a minute at most, so that nothing depends on a
 * lost event.
 *
 * | what is open | seconds |
 * |---|---|
 * | claims were served: others may wait in line, and members be missing | 0.03, doubled for each answer that nothing came of |
 * | a claim waits for a member that is coming, or for the keeper | 0.2 |
 * | a claim was given a Sandbox, or one was made for it, and that does not show yet | 1 |
 * | a Sandbox that was given away still shows: it wakes its new owner alone, and may have gone already | 1 |
 * | members are missing | as refillOf() says |
 * | a member is not Ready, and may be replaced when its grace period ends | until then |
 */
export function nextLook({ view, allocation, refill, memory }: Open, config: WarmPoolConfig, now: Date): number {
  const { handed, cold, asked, waiting, settling, held } = allocation;
  const grace = view.members.filter((member) => !isReady(member) && !isHopeless(member))
    .map((member) => (graceEnds(member, config.readinessGraceSeconds) - now.getTime()) / 1000);
  const given = new Set([...memory.assignments.values()].map(({ uid }) => uid));
  const isLeaving = [...view.members, ...view.cold].some(({ metadata }) => given.has(metadata.uid ?? ""));
  const waits = [
    RECHECK_SECONDS,
    ...(handed.length + cold.length > 0 ? [SOON] : []),
    ...(waiting.length + held.length > 0 ? [SHORTLY] : []),
    ...(asked.length + settling.length > 0 || isLeaving ? [LATER] : []),
    ...(refill.again === undefined ? [] : [refill.again]),
    ...grace.filter((seconds) => seconds > 0),
  ];
  return Math.max(SOON * patience(view, memory), Math.min(...waits));
}

/** Doubles, up to a second or so, while nothing comes of the answers: the API server is away, or refuses the writes. */
function patience({ claims, members, cold, draining }: View, memory: PoolMemory): number {
  const newest = [...members, ...cold, ...claims].map(({ metadata }) => metadata.resourceVersion ?? "").sort().at(-1);
  const counts = [claims.length, members.length, cold.length, draining.length, memory.sequence];
  const on = [...counts, newest, claims.at(-1)?.metadata.uid].join();
  memory.stood = { on, times: memory.stood.on === on ? memory.stood.times + 1 : 0 };
  return 2 ** Math.min(memory.stood.times, 5);
}
