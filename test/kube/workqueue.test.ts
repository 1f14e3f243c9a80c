/** Whose work is next: namespaces in turns, what is urgent first, a little at once. @module */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createWorkQueue, type FairQueue, takeInTurn } from "../../packages/kube/workqueue.ts";

function workQueue(most: number, mostOfOne?: number) {
  const queue = createWorkQueue(most, mostOfOne);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  /** Adds work by names such as `a/1`, or `a/1!` where it is urgent. */
  const add = (...names: string[]) => {
    for (const name of names) {
      const [namespace = "", key = ""] = name.replace("!", "").split("/");
      const work = () => {
        begun.push(name);
        return new Promise<void>((end) => ends.push(end));
      };
      queue.add(namespace, key, work, name.endsWith("!"));
    }
  };
  /** Ends what runs until nothing is left, one after the other. */
  const drain = async () => {
    for (let end = ends.shift(); end; end = ends.shift()) {
      end();
      await setImmediate();
    }
    return begun;
  };
  return { queue, begun, ends, add, drain };
}

test("namespaces take turns, in each what came first is done first", async () => {
  const { add, drain } = workQueue(1);
  add("a/1", "a/2", "a/3", "b/1", "b/2", "c/1");
  expect(await drain()).toEqual(["a/1", "a/2", "b/1", "c/1", "a/3", "b/2"]);
});

test("a namespace whose work has all begun comes behind those that wait", async () => {
  const { add, drain } = workQueue(1);
  add("a/1", "b/1", "a/2");
  expect(await drain()).toEqual(["a/1", "b/1", "a/2"]);
});

test("no more work than may be runs at once", async () => {
  const { begun, ends, add } = workQueue(2);
  add("a/1", "b/1", "c/1", "d/1");
  expect(begun).toEqual(["a/1", "b/1"]);
  ends[1]?.();
  await setImmediate();
  expect(begun).toEqual(["a/1", "b/1", "c/1"]);
});

test("work of one namespace that does not end leaves room for others", async () => {
  const { begun, ends, add } = workQueue(4, 2);
  add("a/1", "a/2", "a/3", "a/4", "b/1", "c/1", "d/1");
  expect(begun).toEqual(["a/1", "a/2", "b/1", "c/1"]);
  ends[2]?.();
  await setImmediate();
  expect(begun.slice(4)).toEqual(["d/1"]);
  ends[0]?.();
  await setImmediate();
  expect(begun.slice(5)).toEqual(["a/3"]);
});

test("what is urgent comes first in its namespace, and nowhere else", async () => {
  const { add, drain } = workQueue(1);
  add("x/1", "a/1", "a/2", "b/1", "b/2!");
  expect(await drain()).toEqual(["x/1", "a/1", "b/2!", "a/2", "b/1"]);
});

test("work replaces what waits under its key, in its place; what was urgent stays so", async () => {
  const queue = createWorkQueue(1);
  const begun: string[] = [];
  const add = (key: string, name: string, isUrgent?: boolean) =>
    queue.add("a", key, () => {
      begun.push(name);
      return Promise.resolve();
    }, isUrgent);
  queue.add("a", "0", () => setImmediate());
  add("1", "replaced");
  add("2", "second");
  add("1", "first");
  add("3", "replaced");
  add("3", "replaced", true);
  add("3", "urgent");
  await setImmediate();
  await setImmediate();
  expect(begun).toEqual(["urgent", "first", "second"]);
});

test("clear() removes what has not begun, and takes new work", async () => {
  const { queue, add, drain } = workQueue(1);
  add("a/1", "a/2", "b/1");
  queue.clear();
  add("b/2");
  expect(await drain()).toEqual(["a/1", "b/2"]);
});

test("takeInTurn() passes over groups that are held, and drops those that have nothing to take", () => {
  const queue: FairQueue<number[]> = new Map([["none", []], ["held", [1]], ["first", [2, 3]], ["second", [4]]]);
  const take = () =>
    takeInTurn(queue, {
      take: (group) => group.shift(),
      isEmpty: ({ length }) => length === 0,
      isHeld: ([first]) => first === 1,
    });
  expect(take()).toBe(2);
  expect([...queue.keys()]).toEqual(["held", "second", "first"]);
  expect([take(), take(), take()]).toEqual([4, 3, undefined]);
  expect([...queue.keys()]).toEqual(["held"]);
});

test("takeInTurn() ends though groups come back that have nothing to take", () => {
  const queue: FairQueue<string> = new Map([["a", "a"], ["b", "b"]]);
  const asked: string[] = [];
  const take = (group: string) => {
    asked.push(group);
    queue.set(group, group);
  };
  expect(takeInTurn(queue, { take, isEmpty: () => false })).toBeUndefined();
  expect([asked, [...queue.keys()]]).toEqual([["a", "b"], ["a", "b"]]);
});
