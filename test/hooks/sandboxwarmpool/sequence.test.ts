/** Numbers and names of members: used once, DNS labels, and never a way to hang the hook. @module */
import { expect, test } from "vitest";
import { memberName, nextPlaces, placeOf, placeText } from "../../../hooks/sandboxwarmpool/sequence.ts";
import { isDNSLabel, nameHash } from "../../../packages/api/objects/names.ts";
import { later, newNames, syncPool } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";

const named = (name: string) => aPool({ metadata: { name } });
const size = (replicas: number, sequence?: number) =>
  aPool({ spec: { replicas }, ...(sequence ? { status: { sequence } } : {}) });

const places = [
  ["12/10", { number: 12, first: 10 }],
  ["1/1", { number: 1, first: 1 }],
  ["", undefined],
  ["12", undefined],
  ["12/", undefined],
  ["/1", undefined],
  ["a/b", undefined],
  ["10/12", undefined],
  ["1.5/1", undefined],
  ["9007199254740993/9007199254740993", undefined],
  ["9007199254740991/9007199254740991", undefined],
  ["4503599627370496/4503599627370496", { number: 2 ** 52, first: 2 ** 52 }],
  ["1763700000000/1", undefined],
] as const;
test.for(places)('placeOf() of "%s"', ([text, want]) => {
  const annotations = { "agents.x-k8s.io/pool-sequence": text };
  expect(placeOf(aMember(1, { metadata: { annotations } }))).toEqual(want);
});

test("placeText() is what placeOf() reads; without the annotation there is no place", () => {
  expect(placeText({ number: 12, first: 10 })).toBe("12/10");
  const annotations = { "agents.x-k8s.io/pool-sequence": undefined };
  expect(placeOf(aMember(1, { metadata: { annotations } }))).toBeUndefined();
});

const long = "x".repeat(253);
const x = (count: number) => "x".repeat(count);
test.for([
  ["warm", "warm-zz"],
  [x(55), `${x(55)}-zz`],
  [x(56), `${x(46)}-HASH-zz`],
  [long, `${x(46)}-HASH-zz`],
  ["a.b", "a-b-HASH-zz"],
  [`${x(45)}.y${x(99)}`, `${x(45)}-HASH-zz`],
])("memberName() of pool %s", ([name = "", want = ""]) => {
  const member = memberName(named(name), 35 * 36 + 35);
  expect(member.slice(0, -5)).toBe(want.replace("HASH", nameHash(name)));
  expect(member.slice(-5)).toMatch(/^[0-9a-f]{5}$/);
  expect(isDNSLabel(member)).toBe(true);
});

test("a member's name does not tell the next one's: that follows from the pool's UID", () => {
  const names = ["uid-1", "uid-2"].map((uid) => memberName(aPool({ metadata: { uid } }), 7));
  expect(new Set(names).size).toBe(2);
  expect(memberName(aPool({ metadata: { uid: "uid-1" } }), 7)).toBe(names[0]);
});

test("pools whose names are cut or rewritten alike have members of different names", () => {
  const names = ["a.b", "a-b", long, `${long.slice(1)}y`].map((name) => memberName(named(name), 1));
  expect(new Set(names).size).toBe(4);
});

test("a new process asks for the names that the one before it asked for", () => {
  const born = (uid: string, seconds: number) =>
    aPool({ metadata: { uid, creationTimestamp: ago(seconds) }, spec: { replicas: 2 } });
  const namesOf = (pool: ReturnType<typeof aPool>, now?: Date) =>
    newNames(syncPool({ pool }, now === undefined ? {} : { now }));
  const first = namesOf(born("uid-warm", 10));
  expect(namesOf(born("uid-warm", 10), later(2))).toEqual(first);
  const others = [...namesOf(born("uid-other", 10)), ...namesOf(born("uid-warm", 9))];
  expect(others.filter((name) => first.includes(name))).toEqual([]);
});

test("a pool of unknown age begins at the clock's milliseconds: not where a pool of its name before it did", () => {
  const first = newNames(syncPool({ pool: size(2) }));
  expect(first.map((name) => name.slice(0, -5))).toEqual(["warm-mwqcvpc1", "warm-mwqcvpc2"]);
  const next = newNames(syncPool({ pool: size(2) }, { now: later(60) }));
  expect(next.filter((name) => first.includes(name))).toEqual([]);
});

const going = { deletionTimestamp: ago(1) };
const marked = { labels: { "agents.x-k8s.io/draining": "stuck" } };
const starts = [
  ["of its members", size(3), [aMember(1), aMember(7)], "warm-8"],
  ["of those that are marked", size(3), [aMember(1), aMember(7, { metadata: marked })], "warm-8"],
  ["of those that are being deleted", size(3), [aMember(1), aMember(7, { metadata: going })], "warm-8"],
  ["of its status", size(3, 9), [aMember(1), aMember(7)], "warm-a"],
] as const;
test.for(starts)("numbers go on from the highest %s", ([, pool, sandboxes, want]) => {
  const [name = "", ...more] = newNames(syncPool({ pool, sandboxes: [...sandboxes] }), { sandboxes: [...sandboxes] });
  expect([name.slice(0, -5), more]).toEqual([want, []]);
});

test("a member that was bound is out of sight, its number is not: the status keeps it", () => {
  const made = syncPool({ pool: size(2) });
  const pool = aPool({ spec: { replicas: 2 }, status: { ...made.status, batches: [{ first: 1, at: ago(60) }] } });
  const next = newNames(syncPool({ pool, sandboxes: [] }));
  expect(next.filter((name) => newNames(made).includes(name))).toEqual([]);
});

test("the status keeps the highest number, and says none before there is one", () => {
  const sequence = (...call: Parameters<typeof syncPool>) => syncPool(...call).status.sequence;
  expect(sequence({ pool: size(1), sandboxes: [aMember(1), aMember(7, { metadata: marked })] })).toBe(7);
  expect(sequence({ pool: size(1), sandboxes: [aMember(2, { metadata: going })] })).toBe(2);
  expect(sequence({ pool: size(1, 9), sandboxes: [aMember(7)] })).toBe(9);
  expect(sequence({ pool: size(0) })).toBeUndefined();
});

test("the status says which batch was the last, and when it was made; an answer that makes none leaves that", () => {
  const made = syncPool({ pool: size(3), sandboxes: [aMember(4)] });
  expect(made.status).toMatchObject({ sequence: 6, batches: [{ first: 5, at: NOW.toISOString() }] });
  const full = { pool: aPool({ spec: { replicas: 1 }, status: made.status }), sandboxes: [aMember(6)] };
  expect(syncPool(full, { now: later(9) }).status).toMatchObject({ sequence: 6, batches: made.status.batches });
});

test("a number whose name is taken is passed over", () => {
  const [first = "", second] = newNames(syncPool({ pool: size(2) }));
  const own = { pool: size(2), sandboxes: [aColdSandbox(aClaim(first))] };
  expect(newNames(syncPool(own), own)).toEqual([second]);
});

test("nextPlaces() tells each member the first that is made along with it", () => {
  const made = nextPlaces(size(3, 4), [], 3, new Set([memberName(size(3), 6)]), NOW);
  expect(made).toEqual([{ number: 5, first: 5 }, { number: 7, first: 5 }, { number: 8, first: 5 }]);
});

test("the status says what it was seen to count as arrived, and the pool looks again soon where that is not all", () => {
  const ask = (status: object) => syncPool({ pool: aPool({ spec: { replicas: 1 }, status }), sandboxes: [aMember(7)] });
  expect(ask({ sequence: 9, arrivedSequence: 3, observedSequence: 2 })).toMatchObject({
    status: { sequence: 9, arrivedSequence: 7, observedSequence: 3 },
    resyncAfterSeconds: 0.2,
  });
  expect(ask({ sequence: 9, arrivedSequence: 7, observedSequence: 3 })).toMatchObject({
    status: { sequence: 9, arrivedSequence: 7, observedSequence: 7 },
    resyncAfterSeconds: 60,
  });
});

test("a number that was asked for and has not arrived is not seen to count, however long ago that was", () => {
  const status = { sequence: 9, arrivedSequence: 0, observedSequence: 0, batches: [{ first: 8, at: ago(60) }] };
  const { status: { arrivedSequence, observedSequence } } = syncPool({ pool: size(0), sandboxes: [] });
  expect([arrivedSequence, observedSequence]).toEqual([undefined, undefined]);
  const asked = syncPool({ pool: aPool({ spec: { replicas: 2 }, status }), sandboxes: [] }).status;
  expect(asked).toMatchObject({ arrivedSequence: 0, observedSequence: 0 });
});

test("where CRDs of an earlier version drop what has arrived, the status says which number it was seen to count", () => {
  const { status } = syncPool({ pool: size(1, 7), sandboxes: [aMember(7)] });
  expect(status).toMatchObject({ sequence: 7, arrivedSequence: 7, observedSequence: 7 });
});

test("the largest number, which has no next one, hangs no process, wherever somebody has written it", () => {
  const most = Number.MAX_SAFE_INTEGER;
  const annotations = { "agents.x-k8s.io/pool-sequence": `${most}/${most}` };
  const member = aMember(1, { metadata: { name: memberName(aPool(), most + 1), annotations } });
  let asked = 0;
  // An endless loop would not come back to fail.
  const has = (name: string) => ++asked > 1000 ? expect.unreachable() : name === member.metadata.name;
  const taken = { has } as unknown as Set<string>;
  expect(nextPlaces(aPool(), [member], 2, taken, NOW)).toHaveLength(2);
  expect(nextPlaces(aPool({ status: { sequence: most } }), [], 2, taken, NOW)).toHaveLength(2);
  const pool = aPool({ spec: { replicas: 1 }, status: { sequence: 1, arrivedSequence: most } });
  expect(syncPool({ pool, sandboxes: [aMember(1)] }).status.arrivedSequence).toBe(1);
});
