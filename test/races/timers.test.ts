/** While the clock of the races replaces the machine's, timers of both can be cleared. @module */
import { expect, test } from "vitest";
import { systemClock } from "../../packages/process/clock.ts";
import { onClock } from "./timers.ts";

test("timers of the machine and of the clock can be cleared while the clock is in place", async () => {
  const fired: string[] = [];
  const before = setTimeout(() => fired.push("before"), 20);
  const stopped: string[] = [];
  const clock = { ...systemClock, setTimeout: (_: () => void) => () => void stopped.push("stopped") };
  await onClock(clock, async () => {
    clearTimeout(before);
    clearTimeout(setTimeout(() => fired.push("within"), 20));
    clearTimeout(undefined);
    await Promise.resolve();
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([fired, stopped]).toEqual([[], ["stopped"]]);
});
