/** What the hook makes of a request: which Sandbox is what, and which claims wait. @module */
import { expect, test } from "vitest";
import { viewOf } from "../../../hooks/sandboxwarmpool/view.ts";
import { aPoolRequest, handOvers, newNames, syncPool } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aReturned } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";

const deleted = { deletionTimestamp: ago(1) };
const marked = { labels: { "agents.x-k8s.io/draining": "surplus" } };
const roles = [
  ["member", "as the pool makes them", aMember(1), "members"],
  ["member", "made by another controller", aMember(1, { applied: null }), "members"],
  ["cold", "made for one claim", aColdSandbox(aClaim("c")), "cold"],
  ["returned", "it has a claim's UID", aReturned(1), "returned"],
  [
    "returned",
    "made for a claim, handed over, and back",
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
  const view = viewOf(aPoolRequest({ sandboxes: [sandbox] }), NOW);
  const { members, cold, returned, draining, terminating } = view;
  const lists = { members, cold, returned, draining, terminating };
  expect(Object.entries(lists).filter(([, list]) => list.length > 0)).toEqual([[role, [sandbox]]]);
});

test("Sandboxes are in order of age, then of name; one without a time is the oldest", () => {
  const unborn = aMember(9, { metadata: { creationTimestamp: undefined } });
  const sandboxes = [aMember(2, { age: 5 }), aMember(3, { age: 5 }), aMember(1, { age: 1 }), unborn];
  const { members } = viewOf(aPoolRequest({ sandboxes }), NOW);
  expect(members.map(({ metadata }) => metadata.name)).toEqual(["warm-9", "warm-2", "warm-3", "warm-1"]);
});

test("a controller without its child rule or its customize answer is an error, not an empty pool", () => {
  const { children, related, ...rest } = aPoolRequest({ sandboxes: [aMember(1)] });
  expect(() => viewOf({ ...rest, children: {}, related }, NOW)).toThrow("the controller has no rule for it");
  expect(() => viewOf({ ...rest, children, related: {} }, NOW)).toThrow("the controller has no rule for it");
});

const unserved = [
  ["with variables that the template refuses", { spec: { env: [{ name: "A", value: "1" }] } }],
  ["with volumes that the template refuses", {
    spec: { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] },
  }],
  ["with a label that is not allowed", { spec: { additionalPodMetadata: { labels: { app: "x" } } } }],
  ["with a reserved annotation", { spec: { additionalPodMetadata: { annotations: { "k8s.io/x": "1" } } } }],
  ["of another pool", { spec: { warmPoolRef: { name: "other" } } }],
  ["of another namespace", { metadata: { namespace: "team-b" } }],
  ["that is being deleted", { metadata: { deletionTimestamp: ago(1) } }],
  ["that is bound", { metadata: { labels: { "agents.x-k8s.io/claim-bound": "true" } } }],
  ["that shows a Sandbox, whoever gave it", { status: { sandbox: { name: "x" } } }],
  ["whose time is over", { spec: { lifecycle: { shutdownTime: "2026-11-21T12:00:00Z" } } }],
  ["that says that it has expired", {
    status: {
      conditions: [{ type: "Ready", status: "False", reason: "ClaimExpired", message: "", lastTransitionTime: ago(1) }],
    },
  }],
] as const;
test.for(unserved)("a claim %s gets nothing", ([, over]) => {
  const world = { sandboxes: [aMember(1), aMember(2), aMember(3)], claims: [aClaim("c", over)] };
  const answer = syncPool(world);
  expect([handOvers(answer), newNames(answer, world).cold]).toEqual([{}, []]);
});

const served = [
  ["whose time is to come", { spec: { lifecycle: { shutdownTime: "2026-11-21T12:00:01Z" } } }],
  ["whose time cannot be read", { spec: { lifecycle: { shutdownTime: "0000-13-01T00:00:00Z" } } }],
  ["with an empty Sandbox name", { status: { sandbox: { name: "" } } }],
] as const;
test.for(served)("a claim %s gets a member", ([, over]) => {
  expect(handOvers(syncPool({ sandboxes: [aMember(1)], claims: [aClaim("c", over)] }))).toEqual({ "warm-1": "c" });
});
