/** What a CompositeController does with its parents and children. @module */
import { expect, test } from "vitest";
import { aComposite, aPart, API, aThing, startWorld } from "./world.ts";

test("creates the desired children, with controller, generated label and last-applied, and writes the status", async () => {
  const world = await startWorld({ "/sync": () => ({ status: { n: 1 }, children: [aPart("a", { spec: { x: 1 } })] }) });
  await world.put(aComposite(), aThing("t"));
  const thing = world.find(API, "Thing", "t");
  expect(thing?.["status"]).toStrictEqual({ n: 1, observedGeneration: 1 });
  expect(world.find(API, "Part", "a")).toMatchObject({
    metadata: {
      namespace: "ns",
      labels: { "controller-uid": thing?.metadata.uid },
      ownerReferences: [{ kind: "Thing", name: "t", uid: thing?.metadata.uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: { x: 1 },
  });
  expect(world.failures).toStrictEqual([]);
});
