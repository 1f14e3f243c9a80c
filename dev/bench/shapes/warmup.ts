/**
 * Creates and deletes objects before a shape is measured, so that the figures are those of processes that have worked
 * before. @module
 */
import { createAll, removeAll } from "../load/ask.ts";
import { followReady } from "../load/follower.ts";
import { aClaim, aSandbox } from "../load/objects.ts";
import type { Arena } from "./arena.ts";
import { leftoverFaults } from "./checks.ts";
import { namespaceOf, PATIENCE, poolOf } from "./ground.ts";
import type { Shape } from "./shape.ts";

/**
 * Creates `shape.warmUp` objects of the shape's kind, and deletes them again.
 *
 * @returns whether the shape has a warm-up; its pools may still have to fill after it
 * @throws if the objects do not become Ready, or are not deleted
 */
export async function warmUp(arena: Arena, shape: Shape): Promise<boolean> {
  const { api, signal, say } = arena;
  const { asks, warmUp: count = 0 } = shape;
  if (count === 0) return false;
  const resource = asks === "sandboxes" ? "sandboxes" : "sandboxclaims";
  say(`${count} to warm up …`);
  const watching = new AbortController();
  const made = await followReady(api, resource, AbortSignal.any([signal, watching.signal]));
  const name = (index: number) => `warm-up-${index}`;
  const pathOf = (index: number) => ({ resource, namespace: namespaceOf(shape, index) }) as const;
  await createAll(api, count, (index) => ({
    path: pathOf(index),
    body: asks === "sandboxes" ? aSandbox(name(index)) : aClaim(name(index), poolOf(shape, index).name),
  }));
  const isWarm = (key: string) => key.includes("/warm-up-");
  const areReady = await made.until(() => [...made.readyAt.keys()].filter(isWarm).length >= count, PATIENCE);
  watching.abort();
  if (!areReady) throw new Error(`Cannot begin: not all of the first ${count} ${resource} become Ready`);
  await removeAll(api, Array.from({ length: count }, (_, index) => ({ ...pathOf(index), name: name(index) })));
  const [fault] = await leftoverFaults(arena, shape);
  if (fault) throw new Error(`Cannot begin: ${fault}`);
  return true;
}
