/** Which member of a pool a claim gets, and that the index is what a look at all of them would say. @module */
import { expect, test } from "vitest";
import { createMembers, type Members } from "../../packages/binder/score.ts";
import { memberState } from "../../hooks/sandboxwarmpool/view.ts";
import { aMember, type Seen, STATUS } from "../pools.ts";
import fc from "../properties.ts";

const on = (node: string, state: "ready" | "starting" = "ready") => ({ ...STATUS[state], nodeName: node });
const all = () => true;

function membersOf(...seen: [number, Seen][]): Members {
  const members = createMembers();
  for (const [number, each] of seen) members.put(aMember(number, each));
  return members;
}

const best = (members: Members, isFit: Parameters<Members["best"]>[0] = all) => members.best(isFit)?.metadata.name;

test("the oldest Ready member is the best, by name where they are of one second", () => {
  expect(best(membersOf([1, { age: 10 }], [2, { age: 30 }], [3, { age: 20 }]))).toBe("warm-2");
  expect(best(membersOf([3, { age: 10 }], [2, { age: 10 }]))).toBe("warm-2");
});

test("a Ready one comes before an older one that only runs, and that before nothing", () => {
  expect(best(membersOf([1, { age: 30, state: "starting" }], [2, { age: 20 }]))).toBe("warm-2");
  const starting = membersOf([1, { state: "coming" }], [2, { age: 5, state: "starting" }], [3, {
    age: 9,
    state: "starting",
  }]);
  expect(best(starting)).toBe("warm-3");
});

test("the node that has most of them gives first, so that none runs dry while others are full", () => {
  const members = membersOf(
    [1, { age: 90, status: on("a") }],
    [2, { age: 10, status: on("b") }],
    [3, { age: 20, status: on("b") }],
    [4, { age: 99, status: on("c", "starting") }],
  );
  expect(best(members)).toBe("warm-3");
  members.remove("uid-warm-3");
  members.remove("uid-warm-2");
  expect(best(members)).toBe("warm-1");
});

test.for(Object.keys(STATUS) as (keyof typeof STATUS)[])("of a pool with one that is %s", (state) => {
  const members = membersOf([1, { state }]);
  const kind = memberState(aMember(1, { state }));
  expect(best(members)).toBe(kind === "ready" || kind === "starting" ? "warm-1" : undefined);
  expect(members.counts()).toEqual({
    all: 1,
    ready: kind === "ready" ? 1 : 0,
    coming: kind === "coming" ? 1 : 0,
  });
});

test("best() takes nothing out, and asks of no more than it has to refuse", () => {
  const members = membersOf([1, { age: 30 }], [2, { age: 20 }], [3, { age: 10 }]);
  const asked: string[] = [];
  const second = members.best(({ metadata: { name } }) => asked.push(name) > 1);
  expect([second?.metadata.name, asked]).toEqual(["warm-2", ["warm-1", "warm-2"]]);
  expect(members.counts().all).toBe(3);
  expect(best(members, () => false)).toBeUndefined();
});

test("put() takes the place of what was known of the same Sandbox", () => {
  const members = membersOf([1, { state: "coming" }]);
  members.put(aMember(1));
  expect([best(members), members.counts()]).toEqual(["warm-1", { all: 1, ready: 1, coming: 0 }]);
  members.put(aMember(1, { state: "finished" }));
  expect([best(members), members.counts()]).toEqual([undefined, { all: 1, ready: 0, coming: 0 }]);
});

test("what was the last to run and is Ready now does not take the Ready ones of its node along", () => {
  const members = membersOf([1, { status: on("a") }], [2, { status: on("a", "starting") }]);
  members.put(aMember(2, { status: on("a") }));
  expect(members.counts()).toEqual({ all: 2, ready: 2, coming: 0 });
});

test("remove() says whether it was in", () => {
  const members = membersOf([1, {}]);
  expect([members.remove("uid-warm-1"), members.remove("uid-warm-1"), members.remove("x")]).toEqual([
    true,
    false,
    false,
  ]);
  expect([best(members), members.counts()]).toEqual([undefined, { all: 0, ready: 0, coming: 0 }]);
});

const number = fc.integer({ min: 1, max: 6 });
const change = fc.oneof(
  fc.record({
    number,
    age: fc.constantFrom(1, 2, 3),
    node: fc.constantFrom("a", "b"),
    state: fc.constantFrom("ready" as const, "starting" as const, "coming" as const, "finished" as const),
  }),
  fc.record({ number }),
);

test("whatever comes and goes, it says what a look at all of them would", () => {
  fc.assert(fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
    const members = createMembers();
    const there = new Map<number, ReturnType<typeof aMember>>();
    for (const each of changes) {
      if ("state" in each) {
        const status = { ...STATUS[each.state], nodeName: each.node };
        const member = aMember(each.number, { age: each.age, status });
        there.set(each.number, member);
        members.put(member);
      } else {
        expect(members.remove(`uid-warm-${each.number}`)).toBe(there.delete(each.number));
      }
    }
    const states = Map.groupBy(there.values(), memberState);
    const ready = states.get("ready") ?? [];
    expect(members.counts()).toEqual({
      all: there.size,
      ready: ready.length,
      coming: states.get("coming")?.length ?? 0,
    });
    const found = members.best(all);
    const from = ready.length > 0 ? ready : states.get("starting") ?? [];
    const size = (sandbox: typeof found) =>
      ready.filter(({ status }) => status?.nodeName === sandbox?.status?.nodeName).length;
    expect(found === undefined).toBe(from.length === 0);
    if (!found) return;
    expect(from).toContain(found);
    expect(size(found)).toBe(Math.max(...from.map(size)));
  }));
});
