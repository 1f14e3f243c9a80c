/** What the binder knows ahead of its watch, held against lists: versions that go back, writes under way, and what is new since. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import { createClusterIndex } from "../../packages/binder/clusterindex.ts";
import { aClaim, aMember, aPool } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const of = (version: number, sandbox: Sandbox): Sandbox => ({
  ...sandbox,
  metadata: { ...sandbox.metadata, resourceVersion: `${version}` },
});
const at = (version: number) => of(version, aMember(1));
const given = (version: number) => of(version, boundMember(aMember(1), aClaim("c"), aTemplate(), NOW));

/** An index that has seen the member at version 9, and where that is: free, the claim's, or nowhere; "returned" stays. */
function anIndex() {
  const returned = new Set<string>();
  const onReturned = ({ metadata }: Sandbox) => returned.add(metadata.name);
  const index = createClusterIndex({ onPool: () => {}, onMembers: () => {}, onControlled: () => {}, onReturned });
  index.pools.observe(aPool());
  index.sandboxes.observe(at(9));
  const where = () => [
    ...returned.size > 0 ? ["returned"] : [],
    ...index.snapshot("team-a", "warm").members.counts().all > 0 ? ["free"] : [],
    ...index.controlled({ namespace: "team-a", uid: "uid-c" }).earliest() ? ["given"] : [],
  ];
  /** Shows a whole list; `during` happens after it was read. */
  const list = (shown: Sandbox[], during = () => {}, version?: string) => {
    index.sandboxes.listing();
    during();
    for (const sandbox of shown) index.sandboxes.observe(sandbox);
    index.sandboxes.listed(new Set(shown.map(({ metadata }) => metadata.uid ?? "")), version);
  };
  return { index, where, list };
}

const before = {
  "it was given to a claim": ({ index }: World) => {
    index.assume(at(9));
    index.written(given(12));
  },
  "it was given to a claim, as the watch has shown": ({ index }: World) => {
    index.assume(at(9));
    index.written(given(12));
    index.sandboxes.observe(given(12));
    index.sandboxes.observe(given(13));
  },
  "it was being given": ({ index }: World) => index.assume(at(9)),
  "somebody else gave it to a claim": ({ index }: World) => index.sandboxes.observe(given(12)),
  "nothing is known but that it has changed": () => {},
  "its claim has ended, and it is gone": ({ index, list }: World) => {
    list([at(9)], () => {}, "20");
    index.sandboxes.observe(given(22));
    index.sandboxes.gone("uid-warm-1");
  },
  "it was gone before a list": ({ list }: World) => list([], () => {}, "20"),
};
type World = ReturnType<typeof anIndex>;

test.for(Object.entries(before))("the cluster was restored: no claim has a member that %s", ([, happened]) => {
  const world = anIndex();
  happened(world);
  world.list([at(3)]);
  expect(world.where()).toEqual(["returned"]);
  world.index.sandboxes.observe(at(4));
  world.list([at(4)]);
  expect(world.where(), "whatever is heard of it").toEqual(["returned"]);
  world.index.sandboxes.observe(given(5));
  expect(world.where(), "versions count from there").toEqual(["returned", "given"]);
});

test("after a restore, no claim gets a Sandbox that a claim had, even if its version is higher than before", () => {
  const listed = anIndex();
  listed.index.sandboxes.observe(given(12));
  listed.list([given(12)], () => {}, "20");
  listed.list([at(15)], () => {}, "16");
  expect(listed.where()).toEqual(["returned"]);

  const watched = anIndex();
  watched.index.sandboxes.observe(given(12));
  watched.index.sandboxes.observe(at(30));
  expect(watched.where()).toEqual(["returned"]);

  const gone = anIndex();
  gone.index.sandboxes.observe(given(12));
  gone.index.sandboxes.gone("uid-warm-1");
  gone.list([at(30)], () => {}, "31");
  expect(gone.where()).toEqual(["returned"]);
});

test("after a restore, no claim gets a member whose new version the watch should have shown before", () => {
  const { where, list } = anIndex();
  list([at(9)], () => {}, "20");
  list([at(15)], () => {}, "16");
  expect(where()).toEqual(["returned"]);
});

test("the cluster was restored: a member that is as it was is free, and so is one that is made since", () => {
  const { index, where, list } = anIndex();
  list([at(9)], () => {}, "20");
  list([at(9)], () => {}, "10");
  expect(where()).toEqual(["free"]);
  index.sandboxes.gone("uid-warm-1");
  index.sandboxes.observe(of(11, aMember(2)));
  list([of(11, aMember(2))], () => {}, "12");
  expect(where(), "versions count from the list").toEqual(["free"]);
});

test("a list that failed half-way makes no member look as if it had come back", () => {
  const { index, where, list } = anIndex();
  list([], () => {}, "2");
  index.sandboxes.listing();
  index.sandboxes.observe(of(40, aMember(2)));
  list([of(9, aMember(3)), of(40, aMember(2))], () => {}, "41");
  expect(where()).toEqual(["free"]);
});

test("what was given while a list was under way is the claim's, whatever that shows", () => {
  const { index, where, list } = anIndex();
  list([at(9)], () => {
    index.assume(at(9));
    index.written(given(12));
  });
  expect(where()).toEqual(["given"]);
  index.sandboxes.observe(at(10));
  expect(where(), "the watch has not come to it yet").toEqual(["given"]);
});

test("what was made while a list was under way is not gone because that lacks it", () => {
  const { index, where, list } = anIndex();
  const made = given(12);
  list([at(9)], () => index.written({ ...made, metadata: { ...made.metadata, name: "c", uid: "uid-cold" } }));
  expect(where()).toEqual(["free", "given"]);
  list([at(9)]);
  expect(where(), "the next list knows of it").toEqual(["free"]);
});

test("a member that is being given is nobody else's because a list shows it as it was, and comes back if that fails", () => {
  const { index, where, list } = anIndex();
  index.assume(at(9));
  list([at(9)]);
  expect(where()).toEqual([]);
  index.release(at(9));
  expect(where()).toEqual(["free"]);
});

test("a member that a list lacks comes back by no release", () => {
  const { index, where, list } = anIndex();
  index.assume(at(9));
  list([]);
  index.release(at(9));
  expect(where()).toEqual([]);
});

test("a list that has failed refutes nothing; the next one does", () => {
  const { index, where, list } = anIndex();
  index.written(given(12));
  index.sandboxes.listing();
  index.sandboxes.observe(at(3));
  expect(where()).toEqual(["given"]);
  list([at(3)]);
  expect(where()).toEqual(["returned"]);
});
