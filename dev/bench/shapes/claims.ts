/** Claims on warm pools: how long each takes to be Ready, and whether each got a Sandbox of its own. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { create, remove, removeAll } from "../load/ask.ts";
import { type Follower, followReady, samplesOf } from "../load/follower.ts";
import { aClaim } from "../load/objects.ts";
import { sendAll } from "../load/send.ts";
import type { Arena, Outcome } from "./arena.ts";
import { boundFaults, createSharingCheck, leftoverFaults, unreadyFaults } from "./checks.ts";
import { fillPools, PATIENCE, patienceFor, poolOf, untilFull } from "./ground.ts";
import type { Shape } from "./shape.ts";
import { warmUp } from "./warmup.ts";

/** Runs a shape of claims. @throws if the pools do not fill */
export async function runClaims(arena: Arena, shape: Shape): Promise<Outcome> {
  const { api, signal, say } = arena;
  const pools = await fillPools(arena, shape);
  const isWarm = await warmUp(arena, shape);
  if (isWarm && !await untilFull(arena, pools, shape)) throw new Error("Cannot begin: the pools do not fill again");
  const shared = createSharingCheck();
  const claims = await followReady(api, "sandboxclaims", signal, shared.look);

  say(`${shape.count} claims …`);
  const { samples, due, full } = await arena.measure(async (begun) => {
    const due = new Map<string, number>();
    let full = true;
    for (const window of windowsOf(shape)) {
      if (due.size > 0) await removeAll(api, pathsOf(claims));
      full &&= due.size === 0 || await untilFull(arena, pools, shape);
      await askForClaims(arena, window, claims, due);
      await claims.until(() => claims.readyAt.size >= due.size, patienceFor(shape));
    }
    full &&= await untilFull(arena, pools, shape);
    return { samples: samplesOf(due, claims, begun), due, full };
  });
  const violations = [
    ...unreadyFaults("claims", due.size, samples.length),
    ...(full ? [] : ["The pools were not full again in time"]),
    ...shared.faults(),
    ...await boundFaults(api, claims),
  ];
  await removeAll(api, pathsOf(claims));
  violations.push(...await leftoverFaults(arena, shape));
  return { asked: shape.count, samples, figures: {}, violations };
}

function pathsOf(claims: Follower) {
  return [...claims.objects.values()].map(({ metadata: { namespace, name } }) => ({
    ...{ resource: "sandboxclaims" as const, namespace, name },
  }));
}

/** Divides a shape into its windows. Arrivals at random differ from window to window, and are the same in every run. */
function windowsOf(shape: Shape): Shape[] {
  const { windows = 1, arrivals } = shape;
  return Array.from({ length: windows }, (_, window) => ({
    ...shape,
    count: shape.count / windows,
    arrivals: arrivals.kind === "poisson" ? { ...arrivals, seed: arrivals.seed + window } : arrivals,
  }));
}

/**
 * Sends the claims, and deletes each again where the shape says so.
 *
 * @param due takes when each was due, by key
 */
async function askForClaims({ api }: Arena, shape: Shape, claims: Follower, due: Map<string, number>): Promise<void> {
  const deletions: Promise<void>[] = [];
  const before = due.size;
  await sendAll(shape.count, shape.arrivals, async (index, at) => {
    const pool = poolOf(shape, index);
    const name = `claim-${before + index}`;
    const key = `${pool.namespace}/${name}`;
    due.set(key, at);
    await create(api, { resource: "sandboxclaims", namespace: pool.namespace }, aClaim(name, pool.name));
    if (shape.dwellSeconds === undefined) return;
    const dwellMs = dwell(index, shape.dwellSeconds) * 1000;
    const path = { resource: "sandboxclaims" as const, namespace: pool.namespace, name };
    const deletion = (async () => {
      await claims.until(() => claims.readyAt.has(key), PATIENCE);
      await sleep(dwellMs);
      await remove(api, path);
    })();
    // One that fails while others are still asked for is heard of in the end; unhandled, it would end the process.
    deletion.catch(() => {});
    deletions.push(deletion);
  });
  await Promise.all(deletions);
}

/** Exponential times of a mean, in an order that is the same in every run. */
function dwell(index: number, mean: number): number {
  const fraction = (index * 0.618_033_988_749_895) % 1;
  return -Math.log(1 - fraction) * mean;
}
