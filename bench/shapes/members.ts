/** Pools that fill for the first time: how long until each member is Ready. @module */
import { followReady } from "../load/follower.ts";
import type { Arena, Measured } from "./arena.ts";
import { createPools, PATIENCE, poolCount, prepareGround } from "./ground.ts";
import type { Shape } from "./shape.ts";

/** Runs a shape of members. */
export async function runMembers(arena: Arena, shape: Shape): Promise<Measured> {
  const { api, signal, say } = arena;
  await prepareGround(arena, shape);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const before = new Set(sandboxes.readyAt.keys());
  const asked = poolCount(shape) * shape.replicas;
  const ready = () => [...sandboxes.readyAt].filter(([key]) => !before.has(key));
  say(`${asked} members …`);
  await arena.begin();
  const begun = performance.now();
  await createPools(arena, shape);
  const full = await sandboxes.until(() => sandboxes.readyAt.size - before.size >= asked, PATIENCE);
  const seconds = (performance.now() - begun) / 1000;
  await arena.end();
  const samples = ready().map(([, at]) => ({ at: 0, ms: at - begun }));
  const surplus = sandboxes.objects.size - before.size - asked;
  const violations = [
    ...(full ? [] : [`${asked - samples.length} of ${asked} members were not Ready after ${PATIENCE} s`]),
    ...(surplus > 0 ? [`${surplus} members more than asked for were made`] : []),
  ];
  return { seconds, asked, samples, figures: {}, violations };
}
