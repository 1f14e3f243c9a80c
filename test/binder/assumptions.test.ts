/** What the binder knows ahead of its watch, held against lists: versions that go back, writes under way, and what is new since. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { handedOver } from "../../packages/binder/handover.ts";
import { createClusterIndex } from "../../packages/binder/clusterindex.ts";
import { aClaim, aMember, aPool } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const of = (version: number, sandbox: Sandbox): Sandbox => ({
  ...sandbox,
  metadata: { ...sandbox.metadata, resourceVersion: `${version}` },
});
const at = (version: number) => of(version, aMember(1));
const given = (version: number) => of(version, handedOver(aMember(1), aClaim("c"), aTemplate(), NOW));

/** An index that has seen the member at version 9, and where that is: free, the claim's, or nowhere. */
function anIndex() {
  const index = createClusterIndex({ onPool: () => {}, onMembers: () => {}, onBound: () => {} });
  index.pools.observe(aPool());
  index.sandboxes.observe(at(9));
  const where = () => [
    ...index.members(aPool()).counts().all > 0 ? ["free"] : [],
    ...index.boundTo("team-a", "uid-c") === undefined ? [] : ["given"],
  ];
  /** Shows a whole list; `during` happens after it was read. */
  const list = (shown: Sandbox[], during = () => {}) => {
    index.sandboxes.listing();
    during();
    for (const sandbox of shown) index.sandboxes.observe(sandbox);
    index.sandboxes.listed(new Set(shown.map(({ metadata }) => metadata.uid ?? "")));
  };
  return { index, where, list };
}

test("the cluster was restored: what was given is free as the list shows it, without a further event", () => {
  const { index, where, list } = anIndex();
  index.assume(at(9));
  index.written(given(12));
  list([at(3)]);
  expect(where()).toEqual(["free"]);
  index.sandboxes.observe(given(5));
  expect(where(), "versions count from there").toEqual(["given"]);
});

test("the cluster was restored: what was lost to somebody else is free", () => {
  const { index, where, list } = anIndex();
  index.assume(at(9));
  list([at(3)]);
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
  expect(where()).toEqual(["free"]);
});
