/** The memory store takes and refuses requests as an API server does, as far as controllers can tell. @module */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../../packages/testing/store/memory.ts";
import { StoreError } from "../../../packages/testing/store/store.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { failure, storeWith } from "./storewith.ts";
import { aCrd, API, aThing } from "./world.ts";

test("create: uid, resourceVersion, generation and time are the server's, status is not taken", async () => {
  const { store, things } = await storeWith();
  await store.clock.advance(1500);
  const made = await store.create(
    things,
    aThing("t", {
      metadata: { uid: "mine", generation: 7, labels: {}, finalizers: [] },
      spec: { a: 1, gone: undefined },
      status: { s: 1 },
    }),
  );
  const { uid, resourceVersion, ...metadata } = made.metadata;
  expect(metadata).toStrictEqual({
    name: "t",
    namespace: "ns",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:01Z",
  });
  expect(uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(Number(resourceVersion)).toBeGreaterThan(0);
  expect(made).toMatchObject({ spec: { a: 1 } });
  expect(made).not.toHaveProperty("status");
  expect(made["spec"]).not.toHaveProperty("gone");
  expect(Object.isFrozen(made["spec"])).toBe(true);
});

test.for<[string, KubeObject, string]>([
  ["a name that is taken", aThing("taken"), "409 AlreadyExists"],
  ["no name", aThing(""), "422 Invalid"],
  ["no namespace", { apiVersion: API, kind: "Thing", metadata: { name: "t" } }, "400 BadRequest"],
  ["a resourceVersion", aThing("t", { metadata: { resourceVersion: "1" } }), "400 BadRequest"],
  [
    "two controllers",
    aThing("t", {
      metadata: {
        ownerReferences: [1, 2].map((n) => ({
          apiVersion: API,
          kind: "Thing",
          name: `o${n}`,
          uid: `${n}`,
          controller: true,
        })),
      },
    }),
    "422 Invalid",
  ],
])("create refuses %s", async ([, object, want]) => {
  const { store, things } = await storeWith();
  await store.put(aThing("taken"));
  expect(await failure(store.create(things, object))).toBe(want);
});

test("generateName makes names that differ", async () => {
  const { store, things } = await storeWith();
  const make = () => store.create(things, aThing("", { metadata: { generateName: "x-" } }));
  const [a, b] = [await make(), await make()];
  expect(a.metadata.name).toMatch(/^x-.{5}$/);
  expect(a.metadata.name).not.toBe(b.metadata.name);
});

test("update: generation counts changes of the spec, status is left, a no-op changes nothing", async () => {
  const { store, things, get } = await storeWith();
  const made = await store.put(aThing("t", { spec: { a: 1 }, status: { s: 1 } }));
  const labelled = await store.update(things, {
    ...made,
    metadata: { ...made.metadata, labels: { l: "1" } },
    status: { s: 2 },
  });
  expect(labelled).toMatchObject({ metadata: { generation: 1, labels: { l: "1" } }, status: { s: 1 } });
  const changed = await store.update(things, {
    ...labelled,
    spec: { a: 2 },
    metadata: { ...labelled.metadata, generation: 99, uid: made.metadata.uid },
  });
  expect(changed.metadata.generation).toBe(2);
  const same = await store.update(things, { ...changed, spec: { a: 2 } });
  expect(same.metadata.resourceVersion).toBe(changed.metadata.resourceVersion);
  expect(await get("t")).toBe(same);
});

test("updateStatus: status alone, no generation; where there is no such subresource update takes it", async () => {
  const { store, things } = await storeWith();
  const made = await store.put(aThing("t", { spec: { a: 1 } }));
  const written = await store.updateStatus(things, {
    ...made,
    spec: { a: 2 },
    status: { s: 1 },
    metadata: { ...made.metadata, labels: { l: "1" } },
  });
  expect(written).toMatchObject({ spec: { a: 1 }, status: { s: 1 }, metadata: { generation: 1 } });
  expect(written.metadata.labels).toBeUndefined();
  const plains = await store.kind(API, "Plain");
  const plain = await store.put(aThing("p", {}, "Plain"));
  expect(await failure(store.updateStatus(plains, { ...plain, status: {} }))).toBe("404 NotFound");
  expect(await store.update(plains, { ...plain, status: { s: 1 } })).toMatchObject({
    status: { s: 1 },
    metadata: { generation: 2 },
  });
});

test("preconditions: resourceVersion and uid, for updates and deletions", async () => {
  const { store, things } = await storeWith();
  const old = await store.put(aThing("t"));
  const now = await store.put(aThing("t", { spec: { a: 1 } }));
  const { resourceVersion: _, ...unversioned } = now.metadata;
  expect(await failure(store.update(things, { ...old, spec: { a: 2 } }))).toBe("409 Conflict");
  expect(await failure(store.updateStatus(things, { ...old, status: {} }))).toBe("409 Conflict");
  expect(await failure(store.update(things, { ...now, metadata: { ...unversioned, uid: "other" } }))).toBe(
    "422 Invalid",
  );
  expect(await failure(store.update(things, { ...now, metadata: { ...now.metadata, uid: "other" } }))).toBe(
    "409 Conflict",
  );
  expect(await failure(store.delete(things, "ns", "t", { uid: "other" }))).toBe("409 Conflict");
  expect(await failure(store.delete(things, "ns", "t", { resourceVersion: old.metadata.resourceVersion ?? "" }))).toBe(
    "409 Conflict",
  );
  expect(await failure(store.delete(things, "ns", "t", { uid: now.metadata.uid ?? "" }))).toBe("none");
  expect(await failure(store.delete(things, "ns", "t"))).toBe("404 NotFound");
  expect(await failure(store.update(things, now))).toBe("404 NotFound");
  expect(await failure(store.get(things, "ns", "t"))).toBe("404 NotFound");
});

test("faults: a refusal, a lost answer, a delay", async () => {
  const lost = new Error("lost");
  const { store, things, get } = await storeWith({
    fault({ verb, name }) {
      if (verb !== "create") return undefined;
      if (name === "refused") return { error: lost };
      if (name === "lost") return { error: lost, applied: true };
      return { delayMs: 50 };
    },
  });
  await expect(store.create(things, aThing("refused"))).rejects.toBe(lost);
  expect(await failure(get("refused"))).toBe("404 NotFound");
  await expect(store.create(things, aThing("lost"))).rejects.toBe(lost);
  expect((await get("lost")).metadata.name).toBe("lost");
  const slow = store.create(things, aThing("slow"));
  await store.clock.advance(49);
  expect(await failure(get("slow"))).toBe("404 NotFound");
  await store.clock.advance(1);
  expect((await slow).metadata.name).toBe("slow");
});

test("admit completes and refuses", async () => {
  const { store, things } = await storeWith({
    admit(object, old) {
      if (object.metadata.name === "bad") throw new StoreError(422, "Invalid", "bad");
      return { ...object, spec: { ...object["spec"] as object, defaulted: true, first: old === undefined } };
    },
  });
  expect(await store.create(things, aThing("t", { spec: { a: 1 } }))).toMatchObject({
    spec: { a: 1, defaulted: true, first: true },
  });
  expect(await failure(store.create(things, aThing("bad")))).toBe("422 Invalid");
});

test("what is served: built-in kinds, and those of CRDs in all their versions", async () => {
  const store = createMemoryStore();
  expect(await failure(store.kind(API, "Thing"))).toBe("404 NotFound");
  const crd = aCrd("Thing");
  const [v1] = (crd["spec"] as { versions: object[] }).versions;
  await store.put({
    ...crd,
    spec: { ...crd["spec"] as object, versions: [v1, { ...v1, name: "v2" }, { ...v1, name: "v0", served: false }] },
  });
  await store.put(aThing("t"));
  const v2 = await store.resource("example.com/v2", "things");
  expect(await store.get(v2, "ns", "t")).toMatchObject({ apiVersion: "example.com/v2", kind: "Thing" });
  expect((await store.list(v2)).map(({ apiVersion }) => apiVersion)).toStrictEqual(["example.com/v2"]);
  expect(await failure(store.kind("example.com/v0", "Thing"))).toBe("404 NotFound");
  expect(await store.resource("v1", "pods")).toMatchObject({ kind: "Pod", namespaced: true, hasStatus: true });
  expect((await store.resource("v1", "namespaces")).namespaced).toBe(false);
});

test("list takes a namespace or all", async () => {
  const { store, things } = await storeWith();
  await store.put(aThing("a"));
  await store.put(aThing("b", { metadata: { namespace: "ns2" } }));
  expect((await store.list(things, "ns2")).map(({ metadata }) => metadata.name)).toStrictEqual(["b"]);
  expect(await store.list(things)).toHaveLength(2);
});
