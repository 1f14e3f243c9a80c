/** What there is for the claims of a pool: which member is whose, and how often members are looked through. @module */
import { expect, test } from "vitest";
import { candidatesOf, choose } from "../../packages/binder/filter.ts";
import { createMembers } from "../../packages/binder/score.ts";
import { aClaim, ago, aMember, aPool, COUNTED } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const young = aClaim("c", { metadata: { creationTimestamp: ago(1) } });
const recreate = aPool({ status: COUNTED, spec: { updateStrategy: { type: "Recreate" } } });

test("a member that the pool's status was not seen to count is waited for, and given once it was", () => {
  const members = createMembers();
  members.put(aMember(7));
  const at = (sequence: number, observedSequence?: number) => {
    const pool = aPool({ status: { sequence, ...(observedSequence === undefined ? {} : { observedSequence }) } });
    const offer = candidatesOf(pool, aTemplate(), members, NOW.getTime());
    return choose(young, offer, [], NOW.getTime()).kind;
  };
  expect([at(7, 6), at(7, 7)]).toEqual(["wait", "member"]);
  expect([at(6), at(7)], "by a hook that does not say what it has seen").toEqual(["wait", "member"]);
});

test("members are looked through once for all claims that are judged at one time", () => {
  let looks = 0;
  const members = createMembers();
  const best: typeof members.best = (...asked) => (looks++, members.best(...asked));
  const offer = candidatesOf(recreate, aTemplate(), { ...members, best }, NOW.getTime());
  for (let index = 0; index < 40; index++) choose(young, offer, [], NOW.getTime());
  expect(looks, "one that is counted, one that is not yet").toBe(2);
});

test("a claim is not given the member that was refused to it, but the next, then one of its own; the others are given the first", () => {
  const members = createMembers();
  for (const number of [1, 2, 3]) members.put(aMember(number));
  const offer = candidatesOf(aPool({ status: COUNTED }), aTemplate(), members, NOW.getTime());
  const given = (...refused: string[]) => {
    const choice = choose(young, { ...offer, refused }, [], NOW.getTime());
    return choice.kind === "member" ? choice.sandbox.metadata.name : choice.kind;
  };
  expect([given("uid-warm-1"), given(), given("uid-warm-3"), given("uid-warm-1", "uid-warm-2")])
    .toEqual(["warm-2", "warm-1", "warm-1", "cold"]);
});

test("members are looked through once more for those that cannot have the first, however many they are", () => {
  let looks = 0;
  const members = createMembers();
  for (const number of [1, 2]) members.put(aMember(number));
  const best: typeof members.best = (...asked) => (looks++, members.best(...asked));
  const offer = candidatesOf(aPool({ status: COUNTED }), aTemplate(), { ...members, best }, NOW.getTime());
  for (let index = 0; index < 40; index++) choose(young, { ...offer, refused: ["uid-warm-1"] }, [], NOW.getTime());
  expect(looks).toBe(2);
});
