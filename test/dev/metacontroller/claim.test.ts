/** Which objects are a composite's children. @module */
import { expect, test } from "vitest";
import { StoreError } from "../../../packages/testing/store/store.ts";
import type { KubeObject, OwnerReference } from "../../../packages/api/objects/objects.ts";
import { aComposite, aPart, API, aThing, startWorld, type World } from "./world.ts";

const SELECTED = { labels: { app: "x" } };
const thing = (rest = {}) => aThing("t", { spec: { selector: { matchLabels: { app: "x" } } }, ...rest });
const keepAll = ({ children }: { children: Record<string, Record<string, KubeObject>> }) => ({
  children: Object.values(children[`Part.${API}`] ?? {}).map(({ metadata: { name, labels } }) =>
    aPart(name, { metadata: { labels } })
  ),
});
const owners = (world: World, name: string) => world.find(API, "Part", name)?.metadata.ownerReferences ?? [];
const shown = (world: World) => Object.keys(world.calls.at(-1)?.body.children[`Part.${API}`] ?? {}).sort();

/** A world with a Thing that selects app=x; `build` makes the Part from a reference to the Thing. */
async function claimWorld(build: (us: OwnerReference) => KubeObject, rest = {}): Promise<World> {
  const world = await startWorld({ "/sync": keepAll });
  const parent = thing(rest);
  await world.put(parent);
  const { uid = "", name } = world.find(API, "Thing", "t")?.metadata ?? { name: "t" };
  const us = { apiVersion: API, kind: "Thing", name, uid, controller: true };
  await world.put(aThing("other", {}, "Plain"));
  if (parent.metadata["doomed"]) await world.drop(API, "Thing", "t");
  const part = build(us);
  await world.put(part);
  if (part.metadata["doomed"]) await world.drop(API, "Part", part.metadata.name);
  await world.put(aComposite({ generateSelector: false }));
  return world;
}

const held = { finalizers: ["test/hold"] };
const other = (world: World): OwnerReference => ({
  apiVersion: API,
  kind: "Plain",
  name: "other",
  uid: world.find(API, "Plain", "other")?.metadata.uid ?? "",
  controller: true,
});

test.for<
  {
    name: string;
    reason: string;
    build: (us: OwnerReference) => KubeObject;
    rest?: object;
    owned: boolean;
    shown: boolean;
  }
>([
  {
    name: "ours, matching",
    reason: "claimed without a write",
    build: (us) => part({ ...SELECTED, ownerReferences: [us] }),
    owned: true,
    shown: true,
  },
  {
    name: "ours, not matching",
    reason: "released and not shown",
    build: (us) => part({ ownerReferences: [us] }),
    owned: false,
    shown: false,
  },
  {
    name: "ours, not matching, parent going",
    reason: "a parent that goes releases nothing",
    build: (us) => part({ ownerReferences: [us] }),
    rest: { metadata: { ...held, doomed: true } },
    owned: true,
    shown: false,
  },
  {
    name: "ours, matching, terminating",
    reason: "still ours until it is gone",
    build: (us) => part({ ...SELECTED, ...held, doomed: true, ownerReferences: [us] }),
    owned: true,
    shown: true,
  },
  { name: "orphan, matching", reason: "adopted", build: () => part(SELECTED), owned: true, shown: true },
  {
    name: "orphan with an owner that is no controller, matching",
    reason: "only a controller counts",
    build: (us) => part({ ...SELECTED, ownerReferences: [{ ...us, controller: false }] }),
    owned: true,
    shown: true,
  },
  { name: "orphan, not matching", reason: "not ours", build: () => part({}), owned: false, shown: false },
  {
    name: "orphan, matching, terminating",
    reason: "what goes is not adopted",
    build: () => part({ ...SELECTED, ...held, doomed: true }),
    owned: false,
    shown: false,
  },
  {
    name: "orphan, matching, in another namespace",
    reason: "a namespaced parent sees its own",
    build: () => part({ ...SELECTED, namespace: "elsewhere" }),
    owned: false,
    shown: false,
  },
])("$name", async ({ build, rest, owned, shown: visible, reason }) => {
  const world = await claimWorld(build, rest);
  const uid = world.find(API, "Thing", "t")?.metadata.uid;
  expect(owners(world, "p").some((owner) => owner.uid === uid && owner.controller), reason).toBe(owned);
  expect(shown(world), reason).toStrictEqual(visible ? ["ns/p"] : []);
  expect(world.failures).toStrictEqual([]);
});

test("one that somebody else controls is neither adopted nor shown", async () => {
  const world = await claimWorld(() => part({}));
  await world.put(aThing("q", { metadata: { ...SELECTED, ownerReferences: [other(world)] } }, "Part"));
  expect(owners(world, "q")).toStrictEqual([other(world)]);
  expect(shown(world)).toStrictEqual([]);
});

test("an adopted child that the hook does not list is deleted in the same sync", async () => {
  const world = await startWorld({ "/sync": () => ({ children: [] }) });
  await world.put(aComposite({ generateSelector: false }), thing(), part(SELECTED));
  expect(world.names(API, "Part")).toStrictEqual([]);
});

test("an orphan wakes all parents of its namespace that would adopt it; the API server lets one win", async () => {
  const world = await startWorld({ "/sync": keepAll });
  await world.put(
    aComposite({ generateSelector: false }),
    thing(),
    aThing("u", { spec: { selector: { matchLabels: { app: "x" } } } }),
  );
  world.calls.length = 0;
  await world.put(part(SELECTED));
  await world.store.clock.advance(10);
  expect(new Set(world.calls.map(({ body }) => body.parent.metadata.name))).toStrictEqual(new Set(["t"]));
  expect(owners(world, "p").map(({ name }) => name)).toStrictEqual(["t"]);
  expect(world.failures.join()).toMatch(/Only one reference can have Controller set to true/);
});

test("a parent that was deleted or replaced behind the cache's back adopts nothing", async () => {
  const world = await startWorld({ "/sync": keepAll }, { watchDelay: ({ kind }) => kind === "Thing" ? 1000 : 0 });
  await world.put(aComposite({ generateSelector: false }), thing());
  await world.store.clock.advance(1000);
  await world.drop(API, "Thing", "t");
  await world.put(thing());
  await world.put(part(SELECTED));
  expect(owners(world, "p")).toStrictEqual([]);
  expect(world.failures.join()).toMatch(/another Thing has the name t/);
});

test("adoption is retried when others write in between", async () => {
  let conflicts = 2;
  const world = await startWorld({ "/sync": keepAll }, {
    fault: ({ verb, name }) =>
      verb === "update" && name === "p" && conflicts-- > 0
        ? { error: new StoreError(409, "Conflict", "changed") }
        : undefined,
  });
  await world.put(aComposite({ generateSelector: false }), thing());
  await world.store.put(part(SELECTED));
  await world.store.clock.advance(60);
  expect(owners(world, "p").map(({ name }) => name)).toStrictEqual(["t"]);
  expect(world.failures).toStrictEqual([]);
});

test("a child whose controller changes wakes its new owner only", async () => {
  const world = await startWorld({ "/sync": keepAll });
  await world.put(
    aComposite({ generateSelector: false }),
    thing(),
    aThing("u", { spec: { selector: { matchLabels: { app: "x" } } } }),
  );
  const [t, u] = ["t", "u"].map((name) => ({
    apiVersion: API,
    kind: "Thing",
    name,
    uid: world.find(API, "Thing", name)?.metadata.uid ?? "",
    controller: true,
  }));
  await world.put(aThing("p", { metadata: { ...SELECTED, ownerReferences: [t] } }, "Part"));
  world.calls.length = 0;
  await world.edit(
    API,
    "Part",
    "p",
    (child) => ({ ...child, metadata: { ...child.metadata, ownerReferences: [u] as never } }),
  );
  expect(world.calls.map(({ body }) => body.parent.metadata.name)).toStrictEqual(["u"]);
});

test("an orphan that is gone by now is passed over", async () => {
  const world = await startWorld({ "/sync": keepAll }, {
    watchDelay: ({ kind, metadata }) => kind === "Part" && metadata.deletionTimestamp ? 1000 : 0,
  });
  await world.put(aComposite({ generateSelector: false }), part(SELECTED));
  await world.drop(API, "Part", "p");
  await world.put(thing());
  expect(world.calls[0]?.path).toBe("/sync");
  expect(world.failures).toStrictEqual([]);
});

test.for([
  { name: "an orphan that is going", metadata: { ...SELECTED, ...held } },
  {
    name: "a child of another object of the parent's name",
    metadata: {
      ...SELECTED,
      ...held,
      ownerReferences: [{ apiVersion: API, kind: "Thing", name: "t", uid: "x", controller: true }],
    },
  },
  {
    name: "a child of another kind",
    metadata: {
      ...SELECTED,
      ...held,
      ownerReferences: [{ apiVersion: API, kind: "Plain", name: "t", uid: "x", controller: true }],
    },
  },
])("$name wakes nobody", async ({ metadata }) => {
  const world = await startWorld({ "/sync": keepAll });
  await world.put(aComposite({ generateSelector: false }), thing(), part(held));
  await world.drop(API, "Part", "p");
  const awake = world.calls.length;
  await world.put(part(metadata));
  expect(world.find(API, "Part", "p")?.metadata.labels).toStrictEqual(SELECTED.labels);
  expect(world.calls.length).toBe(awake);
});

function part(metadata: object): KubeObject {
  return aThing("p", { metadata }, "Part");
}
