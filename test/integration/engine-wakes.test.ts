/** What hookbox relies on in Metacontroller, which events call whose hook: the same for the real and the fake one. @module */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { type EngineWorld, eventually, makeEngineWorld, reference } from "./engine-world.ts";

let world: EngineWorld;
beforeAll(async () => void (world = await makeEngineWorld()));
afterAll(() => world?.stop());

/** Waits until all is quiet for well over a second: a hook that is called afterwards was called for what comes then. */
async function silence(path: string): Promise<void> {
  await world.quiet(path);
  await world.quiet(path);
}

/** How often the hook was called for a parent. */
const callsFor = (path: string, name: string) =>
  world.calls(path).filter(({ parent }) => parent.metadata.name === name).length;

const labelled = (labels: Record<string, string>) => (object: KubeObject) => ({
  ...object,
  metadata: { ...object.metadata, labels },
});

test("an orphan wakes the parent whose selector it matches, and no other", async () => {
  const labels = { app: "wake" };
  world.hook("/orphan", (call) => ({
    status: {},
    children: world.shown(call).map(({ metadata }) => world.aPart(metadata.name, {}, { labels })),
  }));
  await world.composite("orphan", {
    parentResource: world.parents("orphan", { ignoreStatusChanges: true }),
    childResources: [world.parts()],
    hooks: { sync: world.at("/orphan") },
  });
  const one = await world.thing("orphan", { spec: { selector: { matchLabels: labels } } }, "orphan-one");
  await world.thing("orphan", { spec: { selector: { matchLabels: { app: "other" } } } }, "orphan-two");
  await eventually("both first calls", () => callsFor("/orphan", "orphan-one") + callsFor("/orphan", "orphan-two") > 1);
  await silence("/orphan");
  const calls = callsFor("/orphan", "orphan-two");
  await world.apply(world.aPart("orphan", {}, { labels }));
  await eventually(
    "adoption",
    async () => ((await world.part("orphan"))?.metadata.ownerReferences ?? [])[0]?.uid === one.metadata.uid,
  );
  await silence("/orphan");
  expect(callsFor("/orphan", "orphan-two")).toBe(calls);
});

test("a child that changes hands wakes its new owner, and not the old one", async () => {
  const labels = { app: "handed" };
  world.hook("/hands", (call, count) => ({
    status: {},
    children: (count === 1 ? ["hands"] : world.shown(call).map(({ metadata }) => metadata.name))
      .map((name) => world.aPart(name, {}, { labels })),
  }));
  await world.composite("hands", {
    parentResource: world.parents("hands", { ignoreStatusChanges: true }),
    childResources: [world.parts()],
    hooks: { sync: world.at("/hands") },
  });
  const spec = { selector: { matchLabels: labels } };
  await world.thing("hands", { spec }, "hands-old");
  await eventually("a child", () => world.part("hands"));
  const owner = await world.thing("hands", { spec }, "hands-new");
  await eventually("the other's call", () => callsFor("/hands", "hands-new") > 0);
  await silence("/hands");
  const [before, after] = [callsFor("/hands", "hands-old"), callsFor("/hands", "hands-new")];
  await world.edit(world.api, "parts", "hands", (object) => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: [reference(owner)] as never },
  }));
  await eventually("a call", () => callsFor("/hands", "hands-new") > after);
  await silence("/hands");
  expect(callsFor("/hands", "hands-old")).toBe(before);
});

test("a related object wakes by what it was and by what it is, and not when neither is asked for", async () => {
  const rule = { apiVersion: "v1", resource: "configmaps", namespace: world.namespace };
  world.hook("/ask", () => ({ relatedResources: [{ ...rule, labelSelector: { matchLabels: { rel: "1" } } }] }));
  world.hook("/told", () => ({ status: {}, children: [] }));
  await world.composite("told", {
    generateSelector: true,
    parentResource: world.parents("told", { ignoreStatusChanges: true }),
    hooks: { sync: world.at("/told"), customize: world.at("/ask") },
  });
  await world.thing("told");
  await eventually("the first call", () => world.calls("/told").length > 0);
  const steps: [string, () => Promise<unknown>, number][] = [
    ["none of it", () => world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "told" } }), 0],
    ["it is", () => world.edit("v1", "configmaps", "told", labelled({ rel: "1" })), 1],
    ["it was", () => world.edit("v1", "configmaps", "told", labelled({ rel: "2" })), 1],
    ["none of it, still", () => world.edit("v1", "configmaps", "told", labelled({ rel: "3" })), 0],
  ];
  for (const [what, act, more] of steps) {
    await silence("/told");
    const calls = world.calls("/told").length;
    await act();
    await silence("/told");
    expect(world.calls("/told").length - calls, what).toBe(more);
  }
});
