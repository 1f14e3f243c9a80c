/** What the hook makes of a request: which Sandbox is what. @module */
import { expect, test } from "vitest";
import { viewOf } from "../../../hooks/sandboxwarmpool/view.ts";
import { aPoolRequest } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aReturned } from "../../pools.ts";

const deleted = { deletionTimestamp: ago(1) };
const marked = { labels: { "agents.x-k8s.io/draining": "surplus" } };
const roles = [
  ["member", "as the pool makes them", aMember(1), "members"],
  ["member", "made by another controller", aMember(1, { applied: null }), "members"],
  ["returned", "made for one claim, before there was a binder", aColdSandbox(aClaim("c")), "returned"],
  ["returned", "it has a claim's UID", aReturned(1), "returned"],
  [
    "returned",
    "made for a claim, bound, and back",
    aColdSandbox(aClaim("c"), {
      metadata: { labels: { "agents.x-k8s.io/claim-uid": "uid-c" } },
    }),
    "returned",
  ],
  ["draining", "a marked member", aMember(1, { metadata: marked }), "draining"],
  ["draining", "a mark outranks what it is", aReturned(1, { metadata: marked }), "draining"],
  ["draining", "a marked cold one", aColdSandbox(aClaim("c"), { metadata: marked }), "draining"],
  ["terminating", "deletion outranks the mark", aMember(1, { metadata: { ...marked, ...deleted } }), "terminating"],
  ["terminating", "deletion outranks a claim", aReturned(1, { metadata: deleted }), "terminating"],
] as const;
test.for(roles)("a Sandbox is %s: %s", ([, , sandbox, role]) => {
  const view = viewOf(aPoolRequest({ sandboxes: [sandbox] }));
  const { members, returned, draining, terminating } = view;
  const lists = { members, returned, draining, terminating };
  expect(Object.entries(lists).filter(([, list]) => list.length > 0)).toEqual([[role, [sandbox]]]);
});

test("Sandboxes are in order of age, then of name; one without a time is the oldest", () => {
  const unborn = aMember(9, { metadata: { creationTimestamp: undefined } });
  const sandboxes = [aMember(2, { age: 5 }), aMember(3, { age: 5 }), aMember(1, { age: 1 }), unborn];
  const { members } = viewOf(aPoolRequest({ sandboxes }));
  expect(members.map(({ metadata }) => metadata.name)).toEqual(["warm-9", "warm-2", "warm-3", "warm-1"]);
});

test("a controller without its child rule or its customize answer is an error, not an empty pool", () => {
  const { children, related, ...rest } = aPoolRequest({ sandboxes: [aMember(1)] });
  expect(() => viewOf({ ...rest, children: {}, related })).toThrow("the controller has no rule for it");
  expect(() => viewOf({ ...rest, children, related: {} })).toThrow("the controller has no rule for it");
});
