/** What the binder keeps of the Sandboxes that one claim controls, whatever comes and goes. @module */
import { expect, test } from "vitest";
import { createClusterIndex } from "../../packages/binder/clusterindex.ts";
import { createControlled } from "../../packages/binder/standing.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import { aClaim, ago, aMember, aPool, type Seen } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const ASSIGNED = "agents.x-k8s.io/assigned-at";
const of = (name: string, assignedAt: string | undefined = ago(9), { state = "ready", uid = `uid-${name}` } = {}) =>
  aMember(1, {
    state: state as Seen["state"] & string,
    metadata: { name, uid, annotations: { [ASSIGNED]: assignedAt } },
  });

test("of each it keeps when it was given, and whether it has reported its state", () => {
  const controlled = createControlled();
  controlled.put(of("a"));
  controlled.put(of("b", undefined, { state: "none" }));
  controlled.put(of("c", ago(1), { state: "coming" }));
  expect(["a", "b", "c", "d", undefined].map((name) => controlled.find(name))).toMatchObject([
    { name: "a", assignedAt: ago(9), hasReported: true },
    { name: "b", assignedAt: ago(9), hasReported: false },
    { name: "c", assignedAt: ago(1), hasReported: true },
    undefined,
    undefined,
  ]);
});

test("the earliest is the one that was given first, whatever order they come and go in", () => {
  const controlled = createControlled();
  expect(controlled.earliest()).toBeUndefined();
  const earliest = () => controlled.earliest()?.name;
  const steps = [
    () => controlled.put(of("b", ago(5))),
    () => controlled.put(of("c", ago(9))),
    () => controlled.put(of("d", ago(1))),
    () => controlled.put(of("a", ago(9))),
    () => controlled.remove("uid-d"),
    () => controlled.remove("uid-a"),
    () => controlled.remove("uid-c"),
    () => controlled.remove("uid-x"),
    () => controlled.remove("uid-b"),
  ];
  const names = steps.map((step) => {
    step();
    return earliest();
  });
  expect(names).toEqual(["b", "c", "c", "a", "a", "c", "b", "b", undefined]);
});

test("a Sandbox that nobody took note of came before all others: another controller gave it", () => {
  const controlled = createControlled();
  controlled.put(of("a"));
  const unnoted = of("b");
  delete unnoted.metadata.annotations?.[ASSIGNED];
  controlled.put(unnoted);
  expect(controlled.earliest()).toMatchObject({ name: "b", assignedAt: "", hasReported: true });
});

test("a Sandbox that has reported since is known to have", () => {
  const controlled = createControlled();
  controlled.put(of("a", ago(9), { state: "none" }));
  controlled.put(of("a"));
  expect([controlled.find("a")?.hasReported, controlled.earliest()?.hasReported]).toEqual([true, true]);
});

test("a Sandbox that was made anew is not taken away by the end of the one before it", () => {
  const controlled = createControlled();
  controlled.put(of("a", ago(9)));
  controlled.put(of("a", ago(1), { uid: "uid-next" }));
  controlled.remove("uid-a");
  expect([controlled.find("a")?.assignedAt, controlled.earliest()?.assignedAt]).toEqual([ago(1), ago(1)]);
});

test("a list that shows a claim's Sandbox made anew leaves the claim with that one", () => {
  const index = createClusterIndex({ onPool: () => {}, onMembers: () => {}, onControlled: () => {} });
  index.pools.observe(aPool());
  const given = (uid: string) => boundMember(aMember(1, { metadata: { uid } }), aClaim("c"), aTemplate(), NOW);
  index.sandboxes.observe(given("uid-before"));
  index.sandboxes.listing();
  index.sandboxes.observe(given("uid-next"));
  index.sandboxes.listed(new Set(["uid-next"]));
  expect(index.controlled({ namespace: "team-a", uid: "uid-c" }).earliest()?.name).toBe("warm-1");
});

test("nothing is kept of a claim whose Sandboxes are gone", () => {
  const index = createClusterIndex({ onPool: () => {}, onMembers: () => {}, onControlled: () => {} });
  index.sandboxes.observe(boundMember(aMember(1), aClaim("c"), aTemplate(), NOW));
  index.sandboxes.gone("uid-warm-1");
  const controlledBy = (uid: string) => index.controlled({ namespace: "team-a", uid });
  expect(controlledBy("uid-c")).toBe(controlledBy("uid-other"));
});
