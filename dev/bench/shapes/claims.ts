/** Measures claims on warm pools: how long each takes to become Ready, and whether each has its own Sandbox. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { create, remove, removeAll, sendAll } from "../load/requests.ts";
import { type Follower, followReady, samplesOf } from "../load/follower.ts";
import { aClaim } from "../load/objects.ts";
import { PATIENCE, patienceFor, type RunContext, type Shape, type ShapeResult } from "./shape.ts";
import { boundFaults, createSharingCheck, leftoverFaults, unreadyFaults } from "./checks.ts";
import { fillPools, poolOf, untilFull, warmUp } from "./prepare.ts";

/** Runs a shape with claims. @throws if the pools do not fill */
export async function runClaims(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { api, signal, progress } = context;
  const pools = await fillPools(context, shape);
  const isWarm = await warmUp(context, shape);
  if (isWarm && !await untilFull(context, pools, shape)) throw new Error("Cannot begin: the pools do not fill again");
  const shared = createSharingCheck();
  const claims = await followReady(api, "sandboxclaims", signal, shared.observe);

  progress(`${shape.count} claims …`);
  const { samples, due, full } = await context.measure(async (begun) => {
    const due = new Map<string, number>();
    let full = true;
    for (const window of windowsOf(shape)) {
      if (due.size > 0) await removeAll(api, pathsOf(claims));
      full &&= due.size === 0 || await untilFull(context, pools, shape);
      await askForClaims(context, window, claims, due);
      await claims.until(() => claims.readyAt.size >= due.size, patienceFor(shape));
    }
    full &&= await untilFull(context, pools, shape);
    return { samples: samplesOf(due, claims, begun), due, full };
  });
  const violations = [
    ...unreadyFaults("claims", due.size, samples.length),
    ...(full ? [] : ["The pools were not full again in time"]),
    ...shared.faults(),
    ...await boundFaults(api, claims),
  ];
  await removeAll(api, pathsOf(claims));
  violations.push(...await leftoverFaults(context, shape));
  return { asked: shape.count, samples, figures: {}, violations };
}

function pathsOf(claims: Follower) {
  return [...claims.objects.values()].map(({ metadata: { namespace, name } }) => ({
    resource: "sandboxclaims" as const,
    namespace,
    name,
  }));
}

/** Divides a shape into its windows. Random arrivals differ between windows, and are the same in every run. */
function windowsOf(shape: Shape): Shape[] {
  const { windows = 1, arrivals } = shape;
  return Array.from({ length: windows }, (_, window) => ({
    ...shape,
    count: shape.count / windows,
    arrivals: arrivals.kind === "poisson" ? { ...arrivals, seed: arrivals.seed + window } : arrivals,
  }));
}

/**
 * Creates the claims, and deletes each again if the shape asks for it.
 *
 * @param due receives when each claim was due, by its key
 */
async function askForClaims(
  { api }: RunContext,
  shape: Shape,
  claims: Follower,
  due: Map<string, number>,
): Promise<void> {
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
    // If a deletion fails while claims are still being created, the error is reported at the end. Without this handler,
    // it would end the process.
    deletion.catch(() => {});
    deletions.push(deletion);
  });
  await Promise.all(deletions);
}

/** Returns an exponentially distributed time with this mean, the same for an index in every run. */
function dwell(index: number, mean: number): number {
  const fraction = (index * 0.618_033_988_749_895) % 1;
  return -Math.log(1 - fraction) * mean;
}
