/** Waiting for what happens elsewhere, on a machine that may be busy. @module */
import { expect } from "vitest";
import { PATIENCE_MS } from "./patience.ts";

const LOOK_MS = 2;

/** `expect.poll` that gives up late. What it reads is for the matcher behind it: one inside would never be asked. */
export function eventually<T>(read: [Awaited<T>] extends [void] ? never : () => T) {
  return expect.poll(read, { timeout: PATIENCE_MS });
}

const { setTimeout: after } = globalThis;

/** Waits until the condition holds; looks often, and lets no time pass for timers that are held. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; !await holds(); looks++) {
    if (looks > PATIENCE_MS / LOOK_MS) throw new Error(`Cannot go on: it never came to ${holds}`);
    await new Promise((resolve) => after(resolve, LOOK_MS));
  }
}

/** Waits until a list that only grows has so many items. One that has more by then fails at once: to wait on would be in vain. */
export async function untilThere(count: number, list: () => readonly unknown[]): Promise<void> {
  await until(() => list().length >= count);
  expect(list()).toHaveLength(count);
}

/** Waits until a count has begun, and stands still for a while; returns it. */
export async function settled(count: () => number): Promise<number> {
  let last = -1;
  await expect.poll(() => {
    const [before, now] = [last, count()];
    last = now;
    return now > 0 && now === before;
  }, { interval: 150, timeout: PATIENCE_MS }).toBe(true);
  return last;
}
