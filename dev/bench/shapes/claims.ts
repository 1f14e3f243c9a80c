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
    const due = await askForClaims(arena, shape, claims);
    await claims.until(() => claims.readyAt.size >= due.size, patienceFor(shape));
    const full = await untilFull(arena, pools, shape);
    return { samples: samplesOf(due, claims, begun), due, full };
  });
  const violations = [
    ...unreadyFaults("claims", due.size, samples.length),
    ...(full ? [] : ["The pools were not full again in time"]),
    ...shared.faults(),
    ...await boundFaults(api, claims),
  ];
  const paths = [...claims.objects.values()].map(({ metadata }) => ({
    resource: "sandboxclaims" as const,
    namespace: metadata.namespace,
    name: metadata.name,
  }));
  await removeAll(api, paths);
  violations.push(...await leftoverFaults(arena, shape));
  return { asked: shape.count, samples, figures: {}, violations };
}

/** Sends the claims, and deletes each again where the shape says so; returns when each was due, by key. */
async function askForClaims({ api }: Arena, shape: Shape, claims: Follower): Promise<Map<string, number>> {
  const due = new Map<string, number>();
  const deletions: Promise<void>[] = [];
  await sendAll(shape.count, shape.arrivals, async (index, at) => {
    const pool = poolOf(shape, index);
    const name = `claim-${index}`;
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
  return due;
}

/** Exponential times of a mean, in an order that is the same in every run. */
function dwell(index: number, mean: number): number {
  const fraction = (index * 0.618_033_988_749_895) % 1;
  return -Math.log(1 - fraction) * mean;
}
