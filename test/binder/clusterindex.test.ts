/** What the binder knows: who is a member, who is whose, and that its own writes count until the watch is newer. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { type ClusterIndex, createClusterIndex } from "../../packages/binder/clusterindex.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool, aReturned, type Seen } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

/** An index that knows the pool, and what it has told: pools by name, claims with the name of their Sandbox. */
function anIndex() {
  const told: string[] = [];
  const index = createClusterIndex({
    onPool: (namespace, pool) => told.push(`${namespace}/${pool} itself`),
    onMembers: (namespace, pool) => told.push(`${namespace}/${pool}`),
    onControlled: (_, claim, sandbox) => told.push(`${claim} ${sandbox?.metadata.name ?? "none"}`),
  });
  index.templates.observe(aTemplate());
  index.pools.observe(aPool());
  const free = () => membersOf(index).best(() => true)?.metadata.name;
  const nameOf = (claim: string) => firstOf(index, claim);
  return { index, told, free, nameOf };
}

const membersOf = ({ snapshot }: ClusterIndex, pool = "warm") => snapshot("team-a", pool).members;
const firstOf = ({ controlled }: ClusterIndex, uid: string) =>
  controlled({ namespace: "team-a", uid }).earliest()?.name;

const at = (version: number, seen: Seen = {}) =>
  aMember(1, { ...seen, metadata: { ...seen.metadata, resourceVersion: `${version}` } });
const given = (version: number, name = "c"): Sandbox => {
  const sandbox = boundMember(aMember(1), aClaim(name), aTemplate(), NOW);
  return { ...sandbox, metadata: { ...sandbox.metadata, resourceVersion: `${version}` } };
};

/** Shows the index a whole list. */
function list({ sandboxes }: ClusterIndex, ...shown: Sandbox[]): void {
  sandboxes.listing();
  for (const sandbox of shown) sandboxes.observe(sandbox);
  sandboxes.listed?.(new Set(shown.map(({ metadata }) => metadata.uid ?? "")));
}

test("a member belongs to its pool, a claim's Sandbox to the claim; handlers of both are called", () => {
  const { index, told, free, nameOf } = anIndex();
  told.length = 0;
  index.sandboxes.observe(at(1));
  expect([free(), nameOf("uid-c"), told]).toEqual(["warm-1", undefined, ["team-a/warm"]]);
  index.sandboxes.observe(given(2));
  expect([free(), nameOf("uid-c")]).toEqual([undefined, "warm-1"]);
  expect(told.slice(1)).toEqual(["uid-c warm-1", "team-a/warm"]);
});

test("a member that changes is never out of its pool for handlers, and they are called once", () => {
  const seen: number[] = [];
  const look = () => seen.push(membersOf(index).counts().all);
  const index = createClusterIndex({ onPool: look, onMembers: look, onControlled: () => {} });
  index.pools.observe(aPool());
  index.sandboxes.observe(at(1, { state: "coming" }));
  index.sandboxes.observe(at(2, { state: "starting" }));
  expect(seen).toEqual([0, 1, 1]);
});

test("a handler that hears of a pool with one member less finds that member at the claim", () => {
  const seen: (string | undefined)[] = [];
  const look = () => seen.push(firstOf(index, "uid-c"));
  const index = createClusterIndex({ onPool: look, onMembers: look, onControlled: () => {} });
  index.pools.observe(aPool());
  index.sandboxes.observe(at(1));
  index.sandboxes.observe(given(2));
  expect(seen).toEqual([undefined, undefined, "warm-1"]);
});

const strangers = [
  ["marked", aMember(1, { metadata: { labels: { "agents.x-k8s.io/draining": "stale" } } })],
  ["being deleted", aMember(1, { metadata: { deletionTimestamp: ago(1) } })],
  ["a claim's that has come back", aReturned(1)],
  ["made for a claim, before there was a binder", aColdSandbox(aClaim("c"), { metadata: { uid: "uid-warm-1" } })],
  ["nobody's", aMember(1, { metadata: { ownerReferences: [] } })],
  [
    "of a pool of that name before",
    aMember(1, {
      metadata: { ownerReferences: [{ ...aMember(1).metadata.ownerReferences?.[0], uid: "uid-before" }] },
    }),
  ],
] as const;
test.for(strangers)("what is %s is no member, even if it was one", ([, sandbox]) => {
  const { index, free } = anIndex();
  index.sandboxes.observe(aMember(1));
  index.sandboxes.observe(sandbox);
  expect([free(), membersOf(index).counts().all]).toEqual([undefined, 0]);
});

test("members are known before their pool is", () => {
  const index = createClusterIndex({ onPool: () => {}, onMembers: () => {}, onControlled: () => {} });
  index.sandboxes.observe(aMember(1));
  index.pools.observe(aPool());
  expect([membersOf(index).counts().all, membersOf(index, "other").counts().all]).toEqual([1, 0]);
});

test("what is assumed is out of the pool until the watch shows a newer version", () => {
  const { index, free } = anIndex();
  index.sandboxes.observe(at(9));
  index.assume(at(9));
  expect(free()).toBeUndefined();
  for (const old of [8, 9]) index.sandboxes.observe(at(old));
  expect(free(), "an older event, and the same again").toBeUndefined();
  index.sandboxes.observe(at(10));
  expect(free(), "10 is newer than 9: versions are numbers").toBe("warm-1");
  index.sandboxes.observe(at(11));
  expect(free()).toBe("warm-1");
});

test("what was written counts at once, older events do not, the next newer one does", () => {
  const { index, free, told, nameOf } = anIndex();
  index.sandboxes.observe(at(9));
  index.assume(at(9));
  index.written(given(12));
  expect([free(), nameOf("uid-c")]).toEqual([undefined, "warm-1"]);
  told.length = 0;
  for (const old of [at(9), at(10), given(12)]) index.sandboxes.observe(old);
  expect([free(), nameOf("uid-c"), told]).toEqual([undefined, "warm-1", []]);
  index.sandboxes.observe(given(13));
  expect(told).toEqual(["uid-c warm-1"]);
  index.sandboxes.observe(at(14));
  expect([free(), nameOf("uid-c")], "back in the pool, and used").toEqual([undefined, undefined]);
});

test("what is released is as it was, unless the watch has shown something newer", () => {
  const { index, free } = anIndex();
  index.sandboxes.observe(at(9));
  index.assume(at(9));
  index.release(at(9));
  expect(free()).toBe("warm-1");
  index.assume(at(9));
  index.sandboxes.observe(at(10, { metadata: { labels: { "agents.x-k8s.io/draining": "stale" } } }));
  index.release(at(9));
  expect(free(), "it is marked by now").toBeUndefined();
});

test("what is gone comes back by no release", () => {
  const { index, free } = anIndex();
  index.sandboxes.observe(at(9));
  index.assume(at(9));
  index.sandboxes.gone("uid-warm-1");
  index.release(at(9));
  expect(free()).toBeUndefined();
});

test("what a complete list lacks is gone", () => {
  const { index, free, told } = anIndex();
  index.sandboxes.observe(at(9));
  index.sandboxes.observe(aMember(2));
  list(index, at(9));
  expect([free(), membersOf(index).counts().all]).toEqual(["warm-1", 1]);
  list(index);
  expect([free(), told.at(-1)]).toEqual([undefined, "team-a/warm"]);
});

test("the listener hears of each Sandbox that a claim loses, whether or not the claim has another one", () => {
  const { index, told, nameOf } = anIndex();
  index.sandboxes.observe(given(2));
  const second = given(3);
  index.sandboxes.observe({ ...second, metadata: { ...second.metadata, name: "warm-2", uid: "uid-warm-2" } });
  index.sandboxes.gone("uid-warm-1");
  expect([nameOf("uid-c"), told.at(-1)]).toEqual(["warm-2", "uid-c none"]);
  told.length = 0;
  index.sandboxes.gone("uid-warm-2");
  expect([nameOf("uid-c"), told]).toEqual([undefined, ["uid-c none"]]);
});

test("a Sandbox that changes hands from claim to claim is the second's alone", () => {
  const { index, told, nameOf } = anIndex();
  index.sandboxes.observe(given(2));
  index.sandboxes.observe(given(3, "d"));
  expect([nameOf("uid-c"), nameOf("uid-d")]).toEqual([undefined, "warm-1"]);
  expect(told.slice(-2)).toEqual(["uid-d warm-1", "uid-c none"]);
});

test("of a pool's status its counts are of concern, as are its spec and its end", () => {
  const { index, told } = anIndex();
  told.length = 0;
  index.pools.observe(aPool({ status: { selector: "a=b" } }));
  expect(told).toEqual([]);
  index.pools.observe(aPool({ status: { replicas: 1 } }));
  expect(told).toHaveLength(1);
  told.length = 0;
  index.pools.observe(aPool({ metadata: { generation: 2 }, spec: { replicas: 7 } }));
  expect([told.length, index.pools.get("team-a", "warm")?.spec.replicas]).toEqual([1, 7]);
  index.pools.observe(aPool({ metadata: { generation: 2, deletionTimestamp: ago(1) } }));
  expect(told).toHaveLength(2);
  index.pools.gone("uid-warm");
  expect([told.length, index.pools.get("team-a", "warm")]).toEqual([3, undefined]);
});

test("a pool that was made anew is not taken away by the end of the one before it", () => {
  const { index } = anIndex();
  index.sandboxes.observe(aMember(1));
  index.pools.observe(aPool({ metadata: { uid: "uid-next" } }));
  index.pools.gone("uid-warm");
  const pool = index.pools.get("team-a", "warm");
  expect([pool?.metadata.uid, membersOf(index).counts().all]).toEqual(["uid-next", 0]);
});

test("a template that comes or changes is an event of its pools, and of no others", () => {
  const { index, told } = anIndex();
  index.pools.observe(
    aPool({ metadata: { name: "other", uid: "uid-other" }, spec: { sandboxTemplateRef: { name: "x" } } }),
  );
  index.pools.observe(aPool({ metadata: { namespace: "team-b", uid: "uid-b" } }));
  told.length = 0;
  index.templates.observe(aTemplate({ metadata: { generation: 2 } }));
  expect(told).toEqual(["team-a/warm itself"]);
  index.templates.gone("uid-python");
  expect([told.length, index.snapshot("team-a", "warm").template]).toEqual([2, undefined]);
});

test("a change of a pool's counts is an event like one of its members, a new spec one of the pool itself", () => {
  const { index, told } = anIndex();
  told.length = 0;
  index.pools.observe(aPool({ status: { replicas: 1 } }));
  index.pools.observe(aPool({ metadata: { generation: 2 }, status: { replicas: 1 } }));
  expect(told).toEqual(["team-a/warm", "team-a/warm itself"]);
});

test("nothing is kept of a pool that is gone once its members are, whatever is heard of them until then", () => {
  const { index } = anIndex();
  index.sandboxes.observe(aMember(1));
  index.pools.gone("uid-warm");
  index.sandboxes.observe(at(2));
  index.sandboxes.gone("uid-warm-1");
  index.pools.observe(aPool());
  expect(membersOf(index)).toBe(membersOf(index, "other"));
});

test("who names the UID of a pool or claim of another namespace has no part in that", () => {
  const { index, told, free, nameOf } = anIndex();
  told.length = 0;
  const foreign = { namespace: "team-b" };
  index.sandboxes.observe(aMember(1, { metadata: { ...foreign, uid: "uid-foreign" } }));
  const claimed = given(2);
  index.sandboxes.observe({ ...claimed, metadata: { ...claimed.metadata, ...foreign, uid: "uid-forged" } });
  expect([free(), membersOf(index).counts().all, nameOf("uid-c")]).toEqual([undefined, 0, undefined]);
  index.sandboxes.gone("uid-foreign");
  expect(told.filter((each) => each.startsWith("team-a"))).toEqual([]);
});
