/** The status of a pool, from what is observed. Metacontroller adds observedGeneration. @module */
import type { PoolReadyReason, SandboxWarmPoolStatus } from "../../api/sandboxwarmpool.ts";
import { stamp, type Verdict } from "../../lib/conditions.ts";
import { WARM_POOL_LABEL } from "../../lib/keys.ts";
import { nameHash } from "../../lib/names.ts";
import { isReady } from "./memberstate.ts";
import type { WarmPoolConfig } from "./config.ts";
import { progressVerdict } from "./progress.ts";
import { lostAt } from "./refill.ts";
import { numbersOf, type Place } from "./sequence.ts";
import type { View } from "./view.ts";

/**
 * Computes the status; a count of 0 is absent. Source: Agent Sandbox API, sections 1.4 and 3.3.5.
 *
 * @param made the members that the same answer makes
 */
export function computeStatus(
  view: View,
  made: readonly Place[],
  config: WarmPoolConfig,
  now: Date,
): SandboxWarmPoolStatus {
  const { pool, members } = view;
  const { generation, name } = pool.metadata;
  const ready = members.filter(isReady).length;
  const lost = lostAt(view, config, now);
  const verdicts = [progressVerdict(view, config, now), readyVerdict(ready, pool.spec.replicas)];
  return {
    ...(members.length > 0 ? { replicas: members.length } : {}),
    ...(ready > 0 ? { readyReplicas: ready } : {}),
    selector: `${WARM_POOL_LABEL}=${nameHash(name)}`,
    ...numbersOf(pool, [...members, ...view.draining, ...view.terminating], made, now),
    ...(lost === undefined ? {} : { lostAt: lost }),
    conditions: verdicts.map((verdict) => stamp(verdict, pool.status?.conditions, generation, now)),
  };
}

function readyVerdict(ready: number, wanted: number): Verdict<"Ready", PoolReadyReason> {
  const message = `${ready} of ${wanted} sandboxes are Ready`;
  return ready >= wanted
    ? { type: "Ready", status: "True", reason: "Full", message }
    : { type: "Ready", status: "False", reason: "NotFull", message };
}
