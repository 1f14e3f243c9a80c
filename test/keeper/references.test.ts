import { expect, test, vi } from "vitest";
import type { Kept } from "../../packages/keeper/kept.ts";
import { createKnown, createWaiting } from "../../packages/keeper/references.ts";

interface Item {
  metadata: { name: string; uid: string };
  waitsFor?: string;
}
const item = (uid: string, waitsFor?: string): Item => ({
  metadata: { name: uid, uid },
  ...(waitsFor ? { waitsFor } : {}),
});

function setUp() {
  const shown: string[] = [];
  const inner = {
    observe: () => {},
    again: ({ metadata }: Kept<Item>) => shown.push(metadata.uid ?? ""),
    gone: vi.fn(),
  };
  const waiting = createWaiting<Item>(inner, ({ waitsFor }) => waitsFor);
  const again = (key?: string) => {
    shown.length = 0;
    waiting.again(key);
    return [...shown];
  };
  return { waiting, inner, again };
}

test("createWaiting() shows again what waits for the key, and nothing else", () => {
  const { waiting, inner, again } = setUp();
  for (const one of [item("a", "x"), item("b", "x"), item("c", "y"), item("d")]) waiting.observe(one);
  expect([again("x"), again("y"), again("z"), again()]).toEqual([["a", "b"], ["c"], [], ["a", "b", "c"]]);
  waiting.observe(item("a", "y"));
  waiting.observe(item("c"));
  expect([again("x"), again("y")]).toEqual([["b"], ["a"]]);
  waiting.gone("a");
  expect(again()).toEqual(["b"]);
  waiting.gone("b");
  expect(again()).toEqual([]);
  expect(inner.gone.mock.calls).toEqual([["a"], ["b"]]);
});

test("createKnown() tells of what matters, once each, and finds by name", () => {
  const facts = (uid: string, version: string) => ({ uid, namespace: "n", name: "one", version, groups: [version] });
  const known = createKnown((object: ReturnType<typeof facts>) => object);
  const told: (string | undefined)[] = [];
  known.onChange((changed) => told.push(changed && `${changed.uid} ${changed.version}`));
  expect(known.isComplete()).toBe(false);
  known.handler.observe(facts("a", "1"));
  known.handler.observe(facts("a", "1"));
  known.handler.observe(facts("a", "2"));
  known.handler.listed?.(new Set(["a"]));
  expect(known.isComplete()).toBe(true);
  expect(known.find("n", "one")).toEqual(facts("a", "2"));
  // A list brings the next object of the name before the old one's end is noticed.
  known.handler.observe(facts("b", "1"));
  known.handler.gone("a");
  known.handler.gone("never seen");
  expect(known.find("n", "one")).toEqual(facts("b", "1"));
  expect(["1", "2"].map((group) => [...known.members(group)])).toEqual([[facts("b", "1")], []]);
  known.handler.gone("b");
  expect([known.find("n", "one"), known.find(undefined, "one")]).toEqual([undefined, undefined]);
  expect(told).toEqual(["a 1", "a 2", undefined, "b 1", "a 2", "b 1"]);
});
