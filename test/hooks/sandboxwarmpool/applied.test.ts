/** Sandboxes that exist, as a pool answers with them: nothing changes but what is meant, by Metacontroller's merge. @module */
import { expect, test } from "vitest";
import { type Sandbox, sandboxSchema } from "../../../packages/api/sandbox.ts";
import { appliedOf, isHandable } from "../../../hooks/sandboxwarmpool/applied.ts";
import { applyUpdate, lastApplied, sameJson } from "../../../packages/api/objects/apply.ts";
import { marks, named, syncPool } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, aMember, aPool, aReturned } from "../../pools.ts";

const POOL = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  name: "warm",
  uid: "uid-warm",
  controller: true,
  blockOwnerDeletion: true,
};
const twoPorts = [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }];
const trapped = { podTemplate: { spec: { containers: [{ name: "main", image: "python", ports: twoPorts }] } } };

const unchanged = [
  ["a member", aMember(1)],
  ["a cold one", aColdSandbox(aClaim("c"))],
  ["one that a user has suspended", aMember(1, { spec: { operatingMode: "Suspended" }, state: "suspended" })],
  ["one that a user has labelled", aMember(1, { metadata: { labels: { mine: "1" } } })],
  ["one that has a shutdown time", aMember(1, { spec: { shutdownTime: "2026-11-21T13:00:00Z" } })],
  [
    "one that is as the template was before",
    aMember(1, { applied: { spec: { podTemplate: { spec: { containers: [] } } } } }),
  ],
] as const;
test.for(unchanged)("%s costs no write", ([, sandbox]) => {
  expect(sameJson(applyUpdate(sandbox, appliedOf(sandbox, aPool())), sandbox)).toBe(true);
});

test("a member of another controller is described whole in one write, then costs none, and can be bound", () => {
  const foreign = aMember(1, { applied: null, spec: { service: true, volumeClaimTemplates: [] } });
  expect(isHandable(foreign)).toBe(false);
  const first = sandboxSchema.parse(applyUpdate(foreign, appliedOf(foreign, aPool())));
  expect(first.spec).toEqual(foreign.spec);
  expect(first.metadata.ownerReferences).toEqual([POOL]);
  expect(lastApplied(first)).toEqual({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name: "warm-1",
      labels: foreign.metadata.labels,
      annotations: foreign.metadata.annotations,
      ownerReferences: [POOL],
    },
    spec: { podTemplate: foreign.spec.podTemplate, service: true, volumeClaimTemplates: [] },
  });
  expect(sameJson(applyUpdate(first, appliedOf(first, aPool())), first)).toBe(true);
  expect(isHandable(first)).toBe(true);
});

test("a member of another controller becomes one of the claims' attachments to be", () => {
  const annotations = { "metacontroller.k8s.io/decorator-controller": undefined };
  const foreign = aMember(1, { applied: null, metadata: { annotations } });
  const described = applyUpdate(foreign, appliedOf(foreign, aPool()));
  expect(described.metadata.annotations).toMatchObject({
    "metacontroller.k8s.io/decorator-controller": "sandboxclaim",
  });
});

test("one that was applied without an owner gets one there first: the swap would add the new owner to the old one", () => {
  const ownerless = aMember(1, {
    applied: { metadata: { ownerReferences: [] } },
    metadata: { ownerReferences: [POOL] },
  });
  expect(isHandable(ownerless)).toBe(false);
  expect(appliedOf(ownerless, aPool()).metadata.ownerReferences).toEqual([POOL]);
});

test("a claim's Sandbox that has come back is the pool's alone while it is marked, and is never bound", () => {
  const returned = aReturned(1);
  const answer = syncPool({ sandboxes: [returned] });
  expect(marks(answer)).toEqual({ "warm-1": "returned" });
  const written = applyUpdate(returned, named(answer, "warm-1") as object);
  expect(written.metadata.ownerReferences).toEqual([POOL]);
  expect(isHandable(returned)).toBe(false);
});

test("a member of a pool that was deleted, given back to the next of that name, follows that one", () => {
  const pool = aPool({ metadata: { uid: "uid-next" } });
  const owner = { ...POOL, uid: "uid-next" };
  const orphan = aMember(1, { metadata: { labels: { "controller-uid": "uid-next" }, ownerReferences: [owner] } });
  const desired = appliedOf(orphan, pool);
  expect(desired.metadata.labels).toMatchObject({ "controller-uid": "uid-next" });
  expect(applyUpdate(orphan, desired).metadata.ownerReferences).toEqual([owner]);
});

const handable = [
  ["as it was made", true, aMember(1)],
  ["suspended", true, aMember(1, { spec: { operatingMode: "Suspended" } })],
  ["whose ports share a number", false, aMember(1, { applied: { spec: trapped } })],
  ["cold, whose ports share a number", false, aColdSandbox(aClaim("c"), { applied: { spec: trapped } })],
  [
    "that lacks what the keeper has asked to leave out",
    true,
    aMember(1, {
      applied: { spec: { podTemplate: {} } },
      spec: trapped,
    }),
  ],
  [
    "that somebody has changed",
    false,
    aMember(1, { spec: { podTemplate: { spec: { containers: [{ name: "x" }] } } } }),
  ],
] as const;
test.for(handable)("a Sandbox %s can be bound: %s", ([, want, sandbox]) => {
  expect(isHandable(sandbox)).toBe(want);
});

const LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration";

/** A member whose last-applied configuration somebody has changed. */
function forged(change: (applied: { metadata: Record<string, unknown> } & Record<string, unknown>) => void): Sandbox {
  const member = aMember(1, { applied: { metadata: { namespace: "team-a" } } });
  const applied = JSON.parse(member.metadata.annotations?.[LAST_APPLIED] ?? "");
  change(applied);
  const annotations = { ...member.metadata.annotations, [LAST_APPLIED]: JSON.stringify(applied) };
  return { ...member, metadata: { ...member.metadata, annotations } };
}

const forgeries = [
  ["namespace", forged(({ metadata }) => metadata["namespace"] = "kube-system")],
  ["name", forged(({ metadata }) => metadata["name"] = "warm-2")],
  ["kind", forged((applied) => Object.assign(applied, { apiVersion: "v1", kind: "Pod" }))],
] as const;
test.for(forgeries)(
  "a member that has another %s in its last-applied configuration is still itself",
  ([, sandbox]) => {
    const { apiVersion, kind, metadata: { name, namespace } } = appliedOf(sandbox, aPool());
    expect({ apiVersion, kind, name, namespace }).toEqual({
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      name: "warm-1",
      namespace: "team-a",
    });
  },
);

test("of a member with a label that is no text in its last-applied configuration an answer says the name, and no more", () => {
  const odd = forged(({ metadata }) => metadata["labels"] = { x: 1 });
  expect([isHandable(odd), appliedOf(odd, aPool()).metadata]).toEqual([false, { name: "warm-1" }]);
});

test("of one whose last-applied configuration is nested without end, too", () => {
  const nested = forged((applied) => applied["spec"] = "deep");
  const annotations = nested.metadata.annotations ?? {};
  const text = annotations[LAST_APPLIED] ?? "";
  annotations[LAST_APPLIED] = text.replace('"deep"', `{"a":${"[".repeat(6000)}${"]".repeat(6000)}}`);
  expect([isHandable(nested), appliedOf(nested, aPool()).metadata]).toEqual([false, { name: "warm-1" }]);
});
