/** Related objects: asked for once, shown whole, and whom they wake. @module */
import { expect, test } from "vitest";
import { aComposite, aDecorator, aHook, API, aThing, poked, startWorld } from "./world.ts";

const MAPS = { apiVersion: "v1", resource: "configmaps" };
const aMap = (name: string, labels = {}, namespace = "ns") => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels },
});
const quiet = { parentResource: { apiVersion: API, resource: "things", ignoreStatusChanges: true } };
const withCustomize = (version = "v2", sync = "v2") => ({
  hooks: { sync: aHook("/sync", sync), customize: aHook("/customize", version) },
});
const composite = (version?: string, sync?: string) => aComposite({ ...quiet, ...withCustomize(version, sync) });

/** A world whose customize hook answers the rules; tells which related keys the last sync was shown. */
async function relatedWorld(rules: unknown, version?: string, sync?: string) {
  const world = await startWorld({
    "/sync": () => ({ children: [] }),
    "/customize": () => ({ relatedResources: rules }),
  });
  const settle = () => world.store.clock.advance(1000);
  await world.put(composite(version, sync), aThing("t"));
  await settle();
  return { world, settle, shown: () => world.calls.findLast(({ path }) => path === "/sync")?.body.related };
}

test("an empty group for each rule, then objects as they come, change and go", async () => {
  const { world, shown } = await relatedWorld([{ ...MAPS, labelSelector: { matchLabels: { a: "1" } } }, {
    apiVersion: "v1",
    resource: "secrets",
  }]);
  expect(shown()).toStrictEqual({ "ConfigMap.v1": {}, "Secret.v1": {} });
  await world.put(aMap("m", { a: "1" }));
  expect(Object.keys(shown()?.["ConfigMap.v1"] ?? {})).toStrictEqual(["ns/m"]);
  await world.put(aMap("m", { a: "2" }));
  expect(shown()?.["ConfigMap.v1"]).toStrictEqual({});
  await world.put(aMap("m", { a: "1" }));
  await world.drop("v1", "ConfigMap", "m");
  expect(shown()?.["ConfigMap.v1"]).toStrictEqual({});
});

test("what matches no rule, before or after, wakes nobody", async () => {
  const { world } = await relatedWorld([{ ...MAPS, labelSelector: { matchLabels: { a: "1" } } }]);
  const calls = world.count("/sync");
  await world.put(aMap("m", { a: "2" }), aMap("m", { a: "3" }));
  await world.drop("v1", "ConfigMap", "m");
  expect(world.count("/sync")).toBe(calls);
});

test("without a customize hook related is empty", async () => {
  const world = await startWorld({ "/sync": () => ({ children: [] }) });
  await world.put(aComposite(), aThing("t"));
  expect(world.calls[0]?.body.related).toStrictEqual({});
});

test("answers are kept by uid and generation for 20 minutes", async () => {
  const { world } = await relatedWorld([MAPS]);
  expect(world.count("/customize")).toBe(1);
  await world.put(aMap("m"));
  await world.edit(API, "Thing", "t", (thing) => ({ ...thing, metadata: { ...thing.metadata, labels: { a: "1" } } }));
  expect(world.count("/customize")).toBe(1);
  await world.edit(API, "Thing", "t", poked);
  expect(world.count("/customize")).toBe(2);
  await world.store.clock.advance(21 * 60_000);
  await world.put(aMap("m", { late: "1" }));
  expect(world.count("/customize")).toBe(3);
});

test("a related event asks about every parent, and a hook that fails wakes nobody", async () => {
  const world = await startWorld({
    "/sync": () => ({ children: [] }),
    "/customize": ({ parent }) =>
      parent.metadata.name === "bad" ? new Response("no", { status: 500 }) : { relatedResources: [MAPS] },
  });
  await world.put(composite(), aThing("t"), aThing("bad"), aThing("elsewhere", { metadata: { namespace: "ns2" } }));
  await world.store.clock.advance(1000);
  world.calls.length = 0;
  await world.put(aMap("m"));
  expect(world.calls.filter(({ path }) => path === "/sync").map(({ body }) => body.parent.metadata.name)).toStrictEqual(
    ["t", "elsewhere"],
  );
  expect(world.calls.filter(({ path, body }) => path === "/customize" && body.parent.metadata.name === "bad")).not
    .toStrictEqual([]);
});

test("v1: rules are confined to the parent's namespace, keys are names", async () => {
  const { world, shown } = await relatedWorld([MAPS, { apiVersion: "v1", resource: "namespaces" }], "v1", "v1");
  await world.put(aMap("mine"), aMap("theirs", {}, "ns2"), {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "ns" },
  });
  expect(Object.keys(shown()?.["ConfigMap.v1"] ?? {})).toStrictEqual(["mine"]);
  expect(shown()?.["Namespace.v1"]).toStrictEqual({});
});

test("namespaceSelector looks at the labels of namespaces", async () => {
  const { world, shown, settle } = await relatedWorld([{ ...MAPS, namespaceSelector: { matchLabels: { team: "a" } } }]);
  await world.put({ apiVersion: "v1", kind: "Namespace", metadata: { name: "ns2", labels: { team: "a" } } });
  await settle();
  await world.put(aMap("in", {}, "ns2"), aMap("out", {}, "ns"));
  expect(Object.keys(shown()?.["ConfigMap.v1"] ?? {})).toStrictEqual(["ns2/in"]);
});

test.for([
  { name: "a resource that is not served", rules: [{ apiVersion: "v9", resource: "things" }], message: /things/ },
  {
    name: "names and a selector",
    rules: [{ ...MAPS, names: ["a"], labelSelector: {} }],
    message: /names and a selector/,
  },
  { name: "an unknown field", rules: [{ ...MAPS, nmes: ["a"] }], message: /wrong type/ },
])("a sync fails for $name", async ({ rules, message }) => {
  const { world } = await relatedWorld(rules);
  expect(world.failures[0]).toMatch(message);
  expect(world.count("/sync")).toBe(0);
});

test("a decorator's customize gets its object as parent", async () => {
  const world = await startWorld({
    "/sync": () => ({ attachments: [] }),
    "/customize": () => ({ relatedResources: [MAPS] }),
  });
  await world.put(aDecorator(withCustomize()), aThing("t"), aMap("m"));
  await world.store.clock.advance(1000);
  expect(world.calls.find(({ path }) => path === "/customize")?.body).toMatchObject({
    parent: { metadata: { name: "t" } },
    controller: { kind: "DecoratorController" },
  });
  expect(Object.keys(world.calls.at(-1)?.body.related["ConfigMap.v1"] ?? {})).toStrictEqual(["ns/m"]);
});

test("the first use of a resource waits for its list without an event", async () => {
  const world = await startWorld({
    "/sync": () => ({ children: [] }),
    "/customize": () => ({ relatedResources: [MAPS] }),
  });
  await world.put(aMap("m"), composite(), aThing("t"));
  await world.store.clock.advance(5);
  expect(world.count("/sync")).toBeGreaterThan(0);
  expect(world.failures).toStrictEqual([]);
  expect(world.store.objects("v1", "Event").filter(({ reason }) => reason === "SyncError")).toStrictEqual([]);
});

test("a 429 of the customize hook puts the sync off", async () => {
  const world = await startWorld({
    "/sync": () => ({ children: [] }),
    "/customize": (_, call) =>
      call === 1 ? new Response("", { status: 429, headers: { "Retry-After": "7" } }) : { relatedResources: [] },
  });
  await world.put(composite(), aThing("t"));
  await world.store.clock.advance(6999);
  expect(world.count("/sync")).toBe(0);
  await world.store.clock.advance(1);
  expect(world.count("/sync")).toBe(1);
});

test("what is cached already for another controller wakes nobody anew", async () => {
  const world = await startWorld({
    "/sync": () => ({ attachments: [] }),
    "/other": () => ({ attachments: [] }),
    "/customize": () => ({ relatedResources: [MAPS] }),
  });
  const hooks = (path: string) => ({ hooks: { sync: aHook(path), customize: aHook("/customize") } });
  await world.put(aMap("m"), aThing("t"), aDecorator(hooks("/sync"), "first"));
  await world.store.clock.advance(1000);
  await world.put(aDecorator(hooks("/other"), "second"));
  await world.store.clock.advance(1000);
  expect(world.count("/other")).toBe(1);
});
