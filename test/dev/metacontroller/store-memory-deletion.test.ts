/** The memory store deletes as an API server and its garbage collector do: finalizers, owners, propagation. @module */
import { expect, test } from "vitest";
import { failure, storeWith } from "./storewith.ts";
import { API, aThing } from "./world.ts";

test("finalizers hold a deletion; none can be added any more", async () => {
  const { store, things, get } = await storeWith();
  await store.put(aThing("t", { metadata: { finalizers: ["a/b", "c/d"] } }));
  await store.delete(things, "ns", "t");
  const going = await get("t");
  expect(going.metadata).toMatchObject({
    deletionTimestamp: "2026-01-01T00:00:00Z",
    deletionGracePeriodSeconds: 0,
    generation: 2,
  });
  const holding = (finalizers: string[]) => ({ ...going, metadata: { ...going.metadata, finalizers } });
  expect(await failure(store.update(things, holding(["a/b", "new/one"])))).toBe("422 Invalid");
  await store.delete(things, "ns", "t");
  expect((await get("t")).metadata.resourceVersion).toBe(going.metadata.resourceVersion);
  await store.update(things, holding([]));
  expect(await failure(get("t"))).toBe("404 NotFound");
});

test("background: dependents go when their last owner is gone", async () => {
  const { store, owned, settle, names } = await storeWith();
  const [a, b] = [await store.put(aThing("a")), await store.put(aThing("b"))];
  await owned("of-a", [a]);
  const both = await owned("of-both", [a, b]);
  await store.delete(await store.kind(API, "Thing"), "ns", "a");
  await settle();
  expect(names()).toStrictEqual(["of-both"]);
  expect(store.objects(API, "Part")[0]?.metadata.ownerReferences?.map(({ name }) => name)).toStrictEqual(["b"]);
  expect(store.objects(API, "Part")[0]?.metadata.uid).toBe(both.metadata.uid);
});

test("an owner that never was, has another uid or is in another namespace counts as gone", async () => {
  const { store, owned, settle, names } = await storeWith();
  const [a, elsewhere] = [
    await store.put(aThing("a")),
    await store.put(aThing("e", { metadata: { namespace: "ns2" } })),
  ];
  await owned("never", [aThing("none", { metadata: { uid: "x" } })]);
  await owned("other-uid", [{ ...a, metadata: { ...a.metadata, uid: "y" } }]);
  await owned("elsewhere", [elsewhere]);
  await owned("fine", [a]);
  await owned("wide", [await store.put({ apiVersion: API, kind: "Wide", metadata: { name: "w" } })]);
  await settle();
  expect(names()).toStrictEqual(["fine", "wide"]);
});

test("foreground: the owner waits for dependents that block it", async () => {
  const { store, things, parts, owned, settle, names, get } = await storeWith();
  const a = await store.put(aThing("a"));
  const child = await owned("child", [a]);
  await owned("held", [a]);
  const held = await store.get(parts, "ns", "held");
  await store.update(parts, { ...held, metadata: { ...held.metadata, finalizers: ["test/hold"] } });
  const grandchild = await owned("grandchild", [child]);
  await store.delete(things, "ns", "a", { propagation: "Foreground" });
  await settle();
  expect(names()).toStrictEqual(["held"]);
  expect(grandchild.metadata.name).toBe("grandchild");
  expect((await get("a")).metadata["finalizers"]).toStrictEqual(["foregroundDeletion"]);
  const going = await store.get(parts, "ns", "held");
  await store.update(parts, { ...going, metadata: { ...going.metadata, finalizers: [] } });
  await settle();
  expect([names(), names("Thing")]).toStrictEqual([[], []]);
});

test("orphan: dependents stay and lose the reference", async () => {
  const { store, things, owned, settle, names } = await storeWith();
  const a = await store.put(aThing("a"));
  await owned("child", [a]);
  await store.delete(things, "ns", "a", { propagation: "Orphan" });
  await settle();
  expect([names(), names("Thing")]).toStrictEqual([["child"], []]);
  expect(store.objects(API, "Part")[0]?.metadata.ownerReferences).toBeUndefined();
});
