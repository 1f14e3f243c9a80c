/**
 * Runs the workloads of shapes: claims on warm pools, the first command in a sandbox, Sandboxes without a claim, and
 * pools that fill. Each measures how long its objects take, and checks the invariants after it. @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { aClaim, aSandbox, create, remove, removeAll, sendAll } from "../load/requests.ts";
import { type Follower, followReady, samplesOf } from "../load/follower.ts";
import { PATIENCE, patienceFor, poolCount, type RunContext, type Shape, type ShapeResult } from "./shape.ts";
import { boundFaults, createSharingCheck, leftoverFaults, unreadyFaults } from "./checks.ts";
import { createPools, fillPools, namespaceOf, poolOf, prepareCluster, untilFull, warmUp } from "./prepare.ts";
import { percentile, type Sample } from "../result.ts";

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

/** Runs a shape with commands. A sample is the time from the request for the claim to the end of the command. */
export async function runCommands(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { api, signal, progress, command } = context;
  if (!command) throw new Error("Cannot run commands: this stage has no node that runs containers");
  await fillPools(context, shape);
  const claims = await followReady(api, "sandboxclaims", signal);
  progress(`${shape.count} claims with a command each …`);
  const samples: Sample[] = [];
  const ready: number[] = [];
  const violations: string[] = [];
  await context.measure((begun) =>
    sendAll(shape.count, shape.arrivals, async (index, due) => {
      const pool = poolOf(shape, index);
      const path = { resource: "sandboxclaims", namespace: pool.namespace, name: `claim-${index}` } as const;
      const key = `${path.namespace}/${path.name}`;
      await create(api, { resource: path.resource, namespace: path.namespace }, aClaim(path.name, pool.name));
      if (!await claims.until(() => claims.readyAt.has(key), PATIENCE)) {
        violations.push(`Claim ${key} was not Ready after ${PATIENCE} s`);
        return;
      }
      ready.push((claims.readyAt.get(key) ?? due) - due);
      const name = claims.objects.get(key)?.status?.sandbox?.name ?? "";
      // Ready promises that the first request succeeds, so a failure here is a failure of the implementation.
      const answer = await command({ namespace: path.namespace, name, container: "main" }, ["echo", key])
        .catch((error: Error) => error.message);
      if (answer.trim() === key) samples.push({ at: due - begun, ms: performance.now() - due });
      else violations.push(`The first command of claim ${key} failed: ${answer}`);
      await remove(api, path);
    })
  );
  violations.push(...await leftoverFaults(context, shape));
  return { asked: shape.count, samples, figures: figuresOf(ready, [50, 99], "ms to Ready"), violations };
}

/** Runs a shape with the SDK. A sample is the time from the call of `create` to the end of the command. */
export async function runSDK(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { progress, sdk } = context;
  if (!sdk) throw new Error("Cannot use the SDK: this stage has no node that runs hookbox's runtime");
  await fillPools(context, shape);
  progress(`${shape.count} sandboxes with a command each …`);
  const samples: Sample[] = [];
  const created: number[] = [];
  const violations: string[] = [];
  await context.measure((begun) =>
    sendAll(shape.count, shape.arrivals, async (index, due) => {
      const { namespace, name: pool } = poolOf(shape, index);
      const name = `claim-${index}`;
      try {
        await using sandbox = await sdk.create({ pool, namespace, name });
        created.push(performance.now() - due);
        const { stdout } = await sandbox.commands.run(["echo", name]);
        if (stdout.trim() === name) samples.push({ at: due - begun, ms: performance.now() - due });
        else violations.push(`The first command in ${name} printed ${JSON.stringify(stdout)}`);
      } catch (error) {
        violations.push(`Sandbox ${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    })
  );
  violations.push(...await leftoverFaults(context, shape));
  return { asked: shape.count, samples, figures: figuresOf(created, [50, 95, 99], "ms of create"), violations };
}

/** Returns percentiles by their names, such as `p50 ms to Ready`; none if nothing was measured. */
export function figuresOf(measured: number[], percents: number[], what: string): Record<string, number> {
  return Object.fromEntries(percents.flatMap((p) => {
    const value = percentile(measured, p);
    return value === undefined ? [] : [[`p${p} ${what}`, value] as const];
  }));
}

/** Runs a shape with Sandboxes. */
export async function runSandboxes(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { api, signal, progress } = context;
  await prepareCluster(context, shape);
  await warmUp(context, shape);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const before = sandboxes.readyAt.size;
  progress(`${shape.count} Sandboxes …`);
  const pathOf = (index: number) => {
    return { resource: "sandboxes", namespace: namespaceOf(shape, index), name: `sandbox-${index}` } as const;
  };
  const samples = await context.measure(async (begun) => {
    const due = new Map<string, number>();
    await sendAll(shape.count, shape.arrivals, async (index, at) => {
      const { resource, namespace, name } = pathOf(index);
      due.set(`${namespace}/${name}`, at);
      await create(api, { resource, namespace }, aSandbox(name));
    });
    await sandboxes.until(() => sandboxes.readyAt.size - before >= due.size, patienceFor(shape));
    return samplesOf(due, sandboxes, begun);
  });
  const violations = unreadyFaults("Sandboxes", shape.count, samples.length);
  await removeAll(api, Array.from({ length: shape.count }, (_, index) => pathOf(index)));
  violations.push(...await leftoverFaults(context, shape));
  return { asked: shape.count, samples, figures: {}, violations };
}

/** Runs a shape with pool members. */
export async function runMembers(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { api, signal, progress } = context;
  await prepareCluster(context, shape);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const before = new Set(sandboxes.readyAt.keys());
  const asked = poolCount(shape) * shape.replicas;
  progress(`${asked} members …`);
  const samples = await context.measure(async (begun) => {
    await createPools(context, shape);
    await sandboxes.until(() => sandboxes.readyAt.size - before.size >= asked, patienceFor(shape));
    const ready = [...sandboxes.readyAt].filter(([key]) => !before.has(key));
    return ready.map(([, at]) => ({ at: 0, ms: at - begun }));
  });
  const surplus = sandboxes.objects.size - before.size - asked;
  const violations = [
    ...unreadyFaults("members", asked, samples.length),
    ...(surplus > 0 ? [`${surplus} members too many were created`] : []),
  ];
  return { asked, samples, figures: {}, violations };
}
