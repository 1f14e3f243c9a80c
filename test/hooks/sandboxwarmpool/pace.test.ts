/** How often a pool's status is written. @module */
import { expect, test } from "vitest";
import type { SandboxWarmPoolStatus } from "../../../api/sandboxwarmpool.ts";
import { sameJson } from "../../../lib/apply.ts";
import { later, syncPool, type World } from "../../poolcalls.ts";
import { aClaim, aMember, aPool } from "../../pools.ts";

const members = (...numbers: number[]) => numbers.map((number) => aMember(number));

interface Call {
  at: number;
  world: World;
  /** The pool is seen as it was before the last answer. */
  isStale?: boolean;
  metadata?: object;
}

/** Calls the hook several times, each time with the status that is stored by then; gives the answers. */
function answers(calls: Call[]) {
  const memories = new Map();
  const statuses: SandboxWarmPoolStatus[] = [];
  return calls.map(({ at, world, isStale = false, metadata = {} }) => {
    const stored = statuses.at(isStale ? -2 : -1);
    const status = stored ? { ...stored, observedGeneration: 1 } : {};
    const answer = syncPool({ pool: aPool({ status, metadata }), ...world }, { memories, now: later(at) });
    statuses.push(answer.status);
    return { ready: answer.status.readyReplicas, ...answer };
  });
}

const ofNewGeneration = { metadata: { generation: 2 } };

test("a pool's status is told at once after a rest, then once a second, and the newest is never forgotten", () => {
  const told = answers([
    { at: 0, world: { sandboxes: members(1) } },
    { at: 5, world: { sandboxes: members(1, 2) } },
    { at: 5.25, world: { sandboxes: members(1, 2, 3) } },
    { at: 6, world: { sandboxes: members(1, 2, 3) } },
  ]);
  expect(told.map(({ ready }) => ready)).toEqual([1, 2, 2, 3]);
  expect(told[2]?.resyncAfterSeconds).toBeLessThanOrEqual(0.75);
});

test("that members are fewer is told after a second, counted from the first that left", () => {
  const told = answers([
    { at: 0, world: { sandboxes: members(1, 2, 3) } },
    { at: 5, world: { sandboxes: members(1, 2) } },
    { at: 5.75, world: { sandboxes: members(1) } },
    { at: 6, world: { sandboxes: members(1) } },
  ]);
  expect(told.map(({ ready }) => ready)).toEqual([3, 3, 3, 1]);
  expect(told[1]?.resyncAfterSeconds).toBeLessThanOrEqual(1);
});

test("a member that leaves and is replaced within a second is nobody's news, nor is its successor's number", () => {
  const told = answers([
    { at: 0, world: { sandboxes: members(1, 2, 3) } },
    { at: 5, world: { sandboxes: members(2, 3) } },
    { at: 5.5, world: { sandboxes: members(2, 3, 4) } },
    { at: 6.5, world: { sandboxes: members(2, 3, 4) } },
    { at: 7, world: { sandboxes: members(3, 4) } },
    { at: 7.5, world: { sandboxes: members(3, 4, 5) } },
    { at: 60, world: { sandboxes: members(3, 4, 5) } },
  ]);
  const [first, ...rest] = told.map(({ status }) => status);
  expect(rest.slice(0, -1).every((status) => sameJson(status, first))).toBe(true);
  expect(rest.at(-1)?.sequence).toBe((first?.sequence ?? 0) + 2);
});

test("that members are fewer is told at once where their template is gone: they will not be replaced", () => {
  const told = answers([
    { at: 0, world: { sandboxes: members(1, 2, 3) } },
    { at: 5, world: { sandboxes: members(1, 2), template: null } },
  ]);
  expect(told.map(({ ready }) => ready)).toEqual([3, 2]);
});

test("a pool's status is told at once if another one is stored than was told: by others, or nobody knows when", () => {
  const told = answers([
    { at: 0, world: { sandboxes: members(1) } },
    { at: 5, world: { sandboxes: members(1, 2) } },
    { at: 5.25, world: { sandboxes: members(1, 2, 3) }, isStale: true },
  ]);
  expect(told.map(({ ready }) => ready)).toEqual([1, 2, 3]);
});

test("a pool's status of a new generation is told at once", () => {
  const told = answers([
    { at: 0, world: { sandboxes: members(1, 2, 3) } },
    { at: 0.5, world: { sandboxes: members(1, 2) }, ...ofNewGeneration },
  ]);
  expect(told.map(({ ready }) => ready)).toEqual([3, 2]);
});

test("a pool's status is told when the clock has been set back: nobody knows when a second will have passed", () => {
  const told = answers([
    { at: 0, world: { sandboxes: members(1, 2, 3) } },
    { at: -60, world: { sandboxes: members(1, 2) } },
  ]);
  expect(told.map(({ ready }) => ready)).toEqual([3, 2]);
});

test("a pool's status counts every member that leaves: names go on from there after a restart", () => {
  const claims = [aClaim("a"), aClaim("b"), aClaim("c")];
  const [before, after] = answers([
    { at: 0, world: { sandboxes: members(1, 2) } },
    { at: 0.5, world: { sandboxes: members(1, 2, 3), claims } },
  ]);
  const given = after?.children.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === "SandboxClaim");
  expect(given).toHaveLength(3);
  expect(after?.status.sequence).toBeGreaterThan(before?.status.sequence ?? 0);
});
