/** What a watch has shown: found by name and by index, told of once each. */
import { expect, test } from "vitest";
import { createStore } from "../../packages/kube/store.ts";

interface Thing {
  metadata: { namespace: string; name: string; uid: string };
  labels: string[];
  size: number;
}
const thing = (uid: string, over: Partial<Thing> = {}, name = "one"): Thing => ({
  metadata: { namespace: "n", name, uid },
  labels: [],
  size: 0,
  ...over,
});

function setUp() {
  const store = createStore({
    keep: ({ metadata: { uid }, labels, size }: Thing) => ({ uid, labels, size }),
    indexes: { label: ({ labels }) => labels },
    isSame: (before, after) => before.labels.join() === after.labels.join(),
  });
  const told: string[] = [];
  const text = (kept?: { uid: string; labels: string[] }) => kept ? `${kept.uid}(${kept.labels})` : "-";
  store.onChange((before, after) => told.push(`${text(before)} ${text(after)}`));
  store.onSynced(() => told.push("synced"));
  const labelled = (label: string) => [...store.byIndex("label", label)].map(({ uid }) => uid);
  return { store, told, labelled };
}

test("what is kept is found by name and by index, in its last version", () => {
  const { store, labelled } = setUp();
  store.observe(thing("a", { labels: ["x", "y"] }));
  store.observe(thing("b", { labels: ["y"] }, "two"));
  expect([labelled("x"), labelled("y"), labelled("z")]).toEqual([["a"], ["a", "b"], []]);
  store.observe(thing("a", { labels: ["z"], size: 2 }));
  expect([labelled("x"), labelled("y"), labelled("z")]).toEqual([[], ["b"], ["a"]]);
  expect(store.get("n", "one")).toEqual({ uid: "a", labels: ["z"], size: 2 });
  expect([store.get("n", "three"), store.get(undefined, "one")]).toEqual([undefined, undefined]);
  store.gone("a");
  expect([labelled("z"), store.get("n", "one"), [...store.values()].length]).toEqual([[], undefined, 1]);
});

test("listeners hear of each change that matters, once", () => {
  const { store, told } = setUp();
  expect(store.hasSynced()).toBe(false);
  store.observe(thing("a"));
  store.observe(thing("a", { size: 2 }));
  store.observe(thing("a", { labels: ["x"] }));
  store.listed?.(new Set(["a"]));
  store.gone("never seen");
  store.gone("a");
  store.gone("a");
  expect(told).toEqual(["- a()", "a() a(x)", "synced", "a(x) -"]);
  expect(store.hasSynced()).toBe(true);
});

test("the end of an object is no end of the one that has its name by then", () => {
  const { store, told } = setUp();
  store.observe(thing("a"));
  store.observe(thing("b"));
  store.gone("a");
  expect(store.get("n", "one")?.uid).toBe("b");
  store.gone("b");
  expect(store.get("n", "one")).toBeUndefined();
  expect(told).toEqual(["- a()", "- b()", "a() -", "b() -"]);
});
