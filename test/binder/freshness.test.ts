/** When the watch is known to have shown all that was there when the binder began to lead. @module */
import { expect, test } from "vitest";
import { createFreshness } from "../../packages/binder/assume.ts";

type Step = keyof ReturnType<typeof createFreshness> | [step: "asked" | "shown", version: string];

const cases: { name: string; steps: Step[]; isFresh: boolean }[] = [
  { name: "nobody has asked", steps: ["begin", ["shown", "12"]], isFresh: false },
  { name: "all shown is older", steps: ["begin", ["asked", "100"], ["shown", "99"]], isFresh: false },
  { name: "the same version is shown", steps: ["begin", ["asked", "100"], ["shown", "100"]], isFresh: true },
  { name: "a newer one is shown", steps: ["begin", ["asked", "99"], ["shown", "100"]], isFresh: true },
  {
    name: "the first answer counts, not a later one",
    steps: ["begin", ["asked", "10"], ["asked", "20"], ["shown", "11"]],
    isFresh: true,
  },
  { name: "no version was answered", steps: ["begin", ["asked", ""], ["shown", "1"]], isFresh: false },
  { name: "a new term begins", steps: ["begin", ["asked", "10"], ["shown", "11"], "begin"], isFresh: false },
  {
    name: "what a term before has asked is forgotten",
    steps: ["begin", ["asked", "10"], "begin", ["shown", "11"]],
    isFresh: false,
  },
  {
    name: "a list shows a newer one, and is not complete",
    steps: ["begin", ["asked", "10"], "listing", ["shown", "11"]],
    isFresh: false,
  },
  {
    name: "a list that began after it is complete",
    steps: ["begin", ["asked", "10"], "listing", "listed"],
    isFresh: true,
  },
  {
    name: "a list that began before is complete",
    steps: ["begin", "listing", ["asked", "10"], ["shown", "11"], "listed"],
    isFresh: false,
  },
  {
    name: "a list that began in the term before is complete",
    steps: ["begin", ["asked", "10"], "listing", "begin", ["asked", "20"], "listed"],
    isFresh: false,
  },
  {
    name: "a list has failed, and another is complete",
    steps: ["begin", "listing", ["asked", "10"], "listing", "listed"],
    isFresh: true,
  },
  {
    name: "after such a list the watch goes on",
    steps: ["begin", "listing", ["asked", "10"], "listed", ["shown", "12"]],
    isFresh: true,
  },
];

test.for(cases)("$name: $isFresh", ({ steps, isFresh }) => {
  const freshness = createFreshness();
  for (const step of steps) {
    if (Array.isArray(step)) freshness[step[0]](step[1]);
    else (freshness[step] as () => void)();
  }
  expect(freshness.isFresh()).toBe(isFresh);
});
