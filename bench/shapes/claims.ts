/** Claims on warm pools: how long each takes to be Ready, and whether each got a Sandbox of its own. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { create, remove, removeAll } from "../load/ask.ts";
import { type Follower, followReady } from "../load/follower.ts";
import { aClaim } from "../load/objects.ts";
import { sendAll } from "../load/send.ts";
import type { Arena, Measured } from "./arena.ts";
import { boundFaults, createSharingCheck, leftoverFaults } from "./checks.ts";
import { createPools, PATIENCE, poolCount, poolOf, prepareGround, untilFull } from "./ground.ts";
import type { Shape } from "./shape.ts";

/** Runs a shape of claims. @throws if the pools do not fill */
export async function runClaims(arena: Arena, shape: Shape): Promise<Measured> {
  const { api, signal, say } = arena;
  await prepareGround(arena, shape);
  const pools = await followReady(api, "sandboxwarmpools", signal);
  await createPools(arena, shape);
  if (!await untilFull(pools, shape)) throw new Error("Cannot begin: the pools do not fill");
  const shared = createSharingCheck();
  const claims = await followReady(api, "sandboxclaims", signal, shared.look);

  say(`${shape.count} claims …`);
  await arena.begin();
  const begun = performance.now();
  const due = await askForClaims(arena, shape, claims);
  const allReady = await claims.until(() => claims.readyAt.size >= due.size, PATIENCE);
  const full = await untilFull(pools, shape);
  const seconds = (performance.now() - begun) / 1000;
  await arena.end();

  const samples = [...claims.readyAt].map(([key, at]) => ({
    at: (due.get(key) ?? begun) - begun,
    ms: at - (due.get(key) ?? begun),
  }));
  const violations = [
    ...(allReady ? [] : [`${due.size - samples.length} of ${due.size} claims were not Ready after ${PATIENCE} s`]),
    ...(full ? [] : [`The pools were not full again after ${PATIENCE} s`]),
    ...shared.faults(),
    ...await boundFaults(api, claims),
  ];
  const paths = [...claims.objects.values()].map(({ metadata }) => ({
    resource: "sandboxclaims" as const,
    namespace: metadata.namespace,
    name: metadata.name,
  }));
  await removeAll(api, paths);
  const expected = poolCount(shape) * shape.replicas + shape.standing;
  return {
    seconds,
    asked: shape.count,
    samples,
    figures: {},
    violations: [...violations, ...await leftoverFaults(arena, expected)],
  };
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
    deletions.push((async () => {
      await claims.until(() => claims.readyAt.has(key), PATIENCE);
      await sleep(dwellMs);
      await remove(api, path);
    })());
  });
  await Promise.all(deletions);
  return due;
}

/** Exponential times of a mean, in an order that is the same in every run. */
function dwell(index: number, mean: number): number {
  const fraction = (index * 0.618_033_988_749_895) % 1;
  return -Math.log(1 - fraction) * mean;
}
