/** Bare Sandboxes: how long each takes to be Ready. @module */
import { create, removeAll } from "../load/ask.ts";
import { followReady } from "../load/follower.ts";
import { aSandbox } from "../load/objects.ts";
import { sendAll } from "../load/send.ts";
import type { Arena, Measured } from "./arena.ts";
import { leftoverFaults } from "./checks.ts";
import { namespaceOf, PATIENCE, prepareGround } from "./ground.ts";
import type { Shape } from "./shape.ts";

/** Runs a shape of Sandboxes. */
export async function runSandboxes(arena: Arena, shape: Shape): Promise<Measured> {
  const { api, signal, say } = arena;
  await prepareGround(arena, shape);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const before = sandboxes.readyAt.size;
  const due = new Map<string, number>();
  say(`${shape.count} Sandboxes …`);
  await arena.begin();
  const begun = performance.now();
  await sendAll(shape.count, shape.arrivals, async (index, at) => {
    const namespace = namespaceOf(shape, index);
    due.set(`${namespace}/sandbox-${index}`, at);
    await create(api, { resource: "sandboxes", namespace }, aSandbox(`sandbox-${index}`));
  });
  const allReady = await sandboxes.until(() => sandboxes.readyAt.size - before >= due.size, PATIENCE);
  const seconds = (performance.now() - begun) / 1000;
  await arena.end();
  const samples = [...due].flatMap(([key, at]) => {
    const readyAt = sandboxes.readyAt.get(key);
    return readyAt === undefined ? [] : [{ at: at - begun, ms: readyAt - at }];
  });
  const missing = `${due.size - samples.length} of ${due.size} Sandboxes were not Ready after ${PATIENCE} s`;
  const violations = allReady ? [] : [missing];
  const path = (key: string) => {
    const [namespace = "", name = ""] = key.split("/");
    return { resource: "sandboxes" as const, namespace, name };
  };
  await removeAll(api, [...due.keys()].map(path));
  violations.push(...await leftoverFaults(arena, shape.standing));
  return { seconds, asked: shape.count, samples, figures: {}, violations };
}
