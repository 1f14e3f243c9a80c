/** The table for dynamic-apply's merge; every expectation was compared with Metacontroller 4.17.2's own. @module */
import { expect, test } from "vitest";
import { isUnchangedByMerge, mergeApply, sameJson } from "../../../packages/api/objects/apply.ts";
import { deepFreeze } from "../../freeze.ts";

type Json = Record<string, unknown>;
interface Case {
  name: string;
  reason: string;
  observed: Json;
  last?: Json;
  desired: Json;
  want: Json;
}

const defaultTolerations = [{ key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" }];

const cases: Case[] = [
  {
    name: "a field nobody applied",
    reason: "what others set survives, at every depth",
    observed: { spec: { nodeName: "n1", replicas: 1 } },
    desired: { spec: { replicas: 2 } },
    want: { spec: { nodeName: "n1", replicas: 2 } },
  },
  {
    name: "removal by last-applied",
    reason: "only what was applied before is taken back when it is no longer desired",
    observed: { metadata: { labels: { ours: "1", theirs: "1" } } },
    last: { metadata: { labels: { ours: "1" } } },
    desired: { metadata: { labels: {} } },
    want: { metadata: { labels: { theirs: "1" } } },
  },
  {
    name: "a whole branch that is no longer desired",
    reason: "the field goes with all that is in it, others' values included",
    observed: { spec: { a: { ours: 1, theirs: 2 } } },
    last: { spec: { a: { ours: 1 } } },
    desired: { spec: {} },
    want: { spec: {} },
  },
  {
    name: "tolerations",
    reason: "items share no merge key, so the list is atomic and the defaults of admission are lost",
    observed: { tolerations: [{ key: "gpu", operator: "Exists" }, ...defaultTolerations] },
    last: { tolerations: [{ key: "gpu", operator: "Exists" }] },
    desired: { tolerations: [{ key: "gpu", operator: "Exists" }] },
    want: { tolerations: [{ key: "gpu", operator: "Exists" }] },
  },
  {
    name: "port 53 by TCP and UDP",
    reason: "container ports are keyed by containerPort alone: both entries collapse into the last",
    observed: { ports: [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }] },
    desired: { ports: [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }] },
    want: { ports: [{ containerPort: 53, protocol: "UDP" }, { containerPort: 53, protocol: "UDP" }] },
  },
  {
    name: "projected sources",
    reason: "each item has another single key, so the list is atomic and expirationSeconds is lost on every sync",
    observed: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3607 } }, { configMap: {} }] },
    desired: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: {} }] },
    want: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: {} }] },
  },
  {
    name: "containers",
    reason: "merged by name: defaults and an injected sidecar survive, observed order stays, new ones are last",
    observed: { containers: [{ name: "sidecar" }, { name: "main", image: "a", terminationMessagePath: "/dev/x" }] },
    last: { containers: [{ name: "main", image: "a" }] },
    desired: { containers: [{ name: "new", image: "c" }, { name: "main", image: "b" }] },
    want: {
      containers: [
        { name: "sidecar" },
        { name: "main", image: "b", terminationMessagePath: "/dev/x" },
        { name: "new", image: "c" },
      ],
    },
  },
  {
    name: "ownerReferences, the old one in last-applied",
    reason: "keyed by name, not by uid: one write moves a Sandbox from its pool to a claim",
    observed: { ownerReferences: [{ name: "pool", uid: "1", controller: true }] },
    last: { ownerReferences: [{ name: "pool", uid: "1", controller: true }] },
    desired: { ownerReferences: [{ name: "claim", uid: "2", controller: true }] },
    want: { ownerReferences: [{ name: "claim", uid: "2", controller: true }] },
  },
  {
    name: "ownerReferences, the old one not in last-applied",
    reason: "two controllers remain and the API server refuses the object",
    observed: { ownerReferences: [{ name: "pool", uid: "1" }] },
    desired: { ownerReferences: [{ name: "claim", uid: "2" }] },
    want: { ownerReferences: [{ name: "pool", uid: "1" }, { name: "claim", uid: "2" }] },
  },
  {
    name: "ownerReferences of the same name",
    reason: "a parent made anew under its old name takes the place of the old reference",
    observed: { ownerReferences: [{ name: "pool", uid: "1", controller: true }] },
    desired: { ownerReferences: [{ name: "pool", uid: "2" }] },
    want: { ownerReferences: [{ name: "pool", uid: "2", controller: true }] },
  },
  {
    name: "a null item",
    reason: "not all items are objects, so the list is atomic",
    observed: { env: [{ name: "A", value: "1" }, { name: "B" }] },
    desired: { env: [{ name: "A" }, null] },
    want: { env: [{ name: "A" }, null] },
  },
  {
    name: "an item without the key in last-applied",
    reason: "the key must be shared by the items of all three lists",
    observed: { env: [{ name: "A", value: "1" }] },
    last: { env: [{ value: "1" }] },
    desired: { env: [{ name: "A" }] },
    want: { env: [{ name: "A" }] },
  },
  {
    name: "a list map that becomes empty",
    reason: "only the items that were applied go",
    observed: { env: [{ name: "A" }, { name: "B" }] },
    last: { env: [{ name: "A" }] },
    desired: { env: [] },
    want: { env: [{ name: "B" }] },
  },
  {
    name: "null over an object, a scalar over a list",
    reason: "the wrong type counts as empty: the object stays, the list without a key becomes null",
    observed: { spec: { a: 1 }, args: ["x"] },
    desired: { spec: null, args: "y" },
    want: { spec: { a: 1 }, args: null },
  },
  {
    name: "names of Object.prototype",
    reason: "labels are user data",
    observed: { labels: { constructor: "a" } },
    last: { labels: { constructor: "a", toString: "b" } },
    desired: { labels: { valueOf: "c" } },
    want: { labels: { valueOf: "c" } },
  },
];

test.for(cases)("mergeApply() $name", ({ observed, last, desired, want, reason }) => {
  const inputs = structuredClone([observed, last, desired]);
  expect(mergeApply(deepFreeze(observed), deepFreeze(last), deepFreeze(desired)), reason).toStrictEqual(want);
  expect([observed, last, desired]).toStrictEqual(inputs);
});

test.for(cases)(
  "isUnchangedByMerge() says whether that is what was observed: $name",
  ({ observed, last, desired, want }) => {
    expect(isUnchangedByMerge(observed, last, desired)).toBe(sameJson(want, observed));
  },
);
