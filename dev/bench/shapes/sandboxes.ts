/** Measures Sandboxes without claim or pool: how long each takes to become Ready. @module */
import { create, removeAll } from "../load/ask.ts";
import { followReady, samplesOf } from "../load/follower.ts";
import { aSandbox } from "../load/objects.ts";
import { sendAll } from "../load/send.ts";
import type { Arena, Outcome } from "./arena.ts";
import { leftoverFaults, unreadyFaults } from "./checks.ts";
import { namespaceOf, patienceFor, prepareGround } from "./ground.ts";
import type { Shape } from "./shape.ts";
import { warmUp } from "./warmup.ts";

/** Runs a shape with Sandboxes. */
export async function runSandboxes(arena: Arena, shape: Shape): Promise<Outcome> {
  const { api, signal, say } = arena;
  await prepareGround(arena, shape);
  await warmUp(arena, shape);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const before = sandboxes.readyAt.size;
  say(`${shape.count} Sandboxes …`);
  const pathOf = (index: number) => {
    return { resource: "sandboxes", namespace: namespaceOf(shape, index), name: `sandbox-${index}` } as const;
  };
  const samples = await arena.measure(async (begun) => {
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
  violations.push(...await leftoverFaults(arena, shape));
  return { asked: shape.count, samples, figures: {}, violations };
}
