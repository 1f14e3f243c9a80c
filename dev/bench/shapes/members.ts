/** Measures pools that fill for the first time: how long it takes until each member is Ready. @module */
import { followReady } from "../load/follower.ts";
import type { Arena, Outcome } from "./arena.ts";
import { unreadyFaults } from "./checks.ts";
import { createPools, patienceFor, prepareGround } from "./ground.ts";
import { poolCount, type Shape } from "./shape.ts";

/** Runs a shape with pool members. */
export async function runMembers(arena: Arena, shape: Shape): Promise<Outcome> {
  const { api, signal, say } = arena;
  await prepareGround(arena, shape);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const before = new Set(sandboxes.readyAt.keys());
  const asked = poolCount(shape) * shape.replicas;
  say(`${asked} members …`);
  const samples = await arena.measure(async (begun) => {
    await createPools(arena, shape);
    await sandboxes.until(() => sandboxes.readyAt.size - before.size >= asked, patienceFor(shape));
    const ready = [...sandboxes.readyAt].filter(([key]) => !before.has(key));
    return ready.map(([, at]) => ({ at: 0, ms: at - begun }));
  });
  const surplus = sandboxes.objects.size - before.size - asked;
  const violations = [
    ...unreadyFaults("members", asked, samples.length),
    ...(surplus > 0 ? [`${surplus} members more than asked for were made`] : []),
  ];
  return { asked, samples, figures: {}, violations };
}
