/**
 * Measures how long Sandboxes without a claim take to become Ready: Sandboxes without a pool, and members of pools that
 * fill. @module
 */
import { followReady, samplesOf } from "../load/follower.ts";
import { aSandbox } from "../load/objects.ts";
import { create, removeAll, sendAll } from "../load/requests.ts";
import { leftoverFaults, unreadyFaults } from "./checks.ts";
import { createPools, namespaceOf, prepareCluster, warmUp } from "./prepare.ts";
import { patienceFor, poolCount, type RunContext, type Shape, type ShapeResult } from "./shape.ts";

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
