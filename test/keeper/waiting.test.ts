import { expect, test, vi } from "vitest";
import type { Kept } from "../../packages/kube/kept.ts";
import { createStore } from "../../packages/kube/store.ts";
import { createWaiting, requeueOnChange } from "../../packages/keeper/watches.ts";

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
    requeue: ({ metadata }: Kept<Item>) => shown.push(metadata.uid ?? ""),
    gone: vi.fn(),
  };
  const waiting = createWaiting<Item>(inner, ({ waitsFor }) => waitsFor);
  const again = (key?: string) => {
    shown.length = 0;
    waiting.requeue(key);
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

test("requeueOnChange() shows again what waits for an object that changes, and everything once all is known", () => {
  const { waiting, again } = setUp();
  const shown: string[][] = [];
  for (const one of [item("a", "x"), item("b", "y")]) waiting.observe(one);
  const store = createStore({ keep: ({ metadata }: Item) => metadata.name });
  requeueOnChange({ ...waiting, requeue: (key) => void shown.push(again(key)) }, store, (name) => name);
  store.observe(item("x"));
  store.gone("x");
  store.listed?.(new Set());
  expect(shown).toEqual([["a"], ["a"], ["a", "b"]]);
});
