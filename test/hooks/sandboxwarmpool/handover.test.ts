/** The hand-over: one write that leaves the claim as the only owner and the Pod as it is. @module */
import { expect, test } from "vitest";
import { type Sandbox, sandboxSchema } from "../../../api/sandbox.ts";
import type { SandboxClaim } from "../../../api/sandboxclaim.ts";
import { handedOver } from "../../../hooks/sandboxwarmpool/handover.ts";
import { viewOf } from "../../../hooks/sandboxwarmpool/view.ts";
import { applyUpdate } from "../../../lib/apply.ts";
import { aPoolRequest, named, syncPool, type World } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, aMember, aPool } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";
import { aTemplate } from "../../templates.ts";

const TRACE = "opentelemetry.io/trace-context";

function swap(sandbox: Sandbox, claim: SandboxClaim, world: World = {}): Sandbox {
  const view = viewOf(aPoolRequest({ ...world, sandboxes: [sandbox], claims: [claim] }), NOW);
  return sandboxSchema.parse(applyUpdate(sandbox, handedOver(view, sandbox, claim, NOW)));
}

const claimRef = ({ metadata: { name, uid } }: SandboxClaim) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

const swaps = [
  ["a member", aMember(1), aClaim("c")],
  ["a member to a claim of the pool's name", aMember(1), aClaim("warm")],
  ["a member to a claim of the member's name", aMember(1), aClaim("warm-1")],
  ["a cold one", aColdSandbox(aClaim("c")), aClaim("c")],
  ["a cold one to a claim of the pool's name", aColdSandbox(aClaim("warm")), aClaim("warm")],
] as const;
test.for(swaps)(
  "%s: the claim is the only owner, Metacontroller's marks stay, the Pod's spec is as it was",
  ([, sandbox, claim]) => {
    const { metadata, spec } = swap(sandbox, claim);
    expect(metadata.ownerReferences).toEqual([claimRef(claim)]);
    expect(metadata.labels).toMatchObject({
      "controller-uid": "uid-warm",
      "agents.x-k8s.io/claim-uid": claim.metadata.uid,
    });
    expect(metadata.annotations).toMatchObject({ "metacontroller.k8s.io/decorator-controller": "sandboxclaim" });
    expect(metadata.resourceVersion).toBe("1");
    expect(spec).toEqual({
      ...sandbox.spec,
      podTemplate: { ...spec.podTemplate, spec: sandbox.spec.podTemplate.spec },
    });
  },
);

test("a warm Sandbox loses the pool's labels and keeps the template's; its annotations stay", () => {
  const { metadata } = swap(aMember(1), aClaim("c"));
  expect(metadata.labels).toEqual({
    "controller-uid": "uid-warm",
    "agents.x-k8s.io/claim-uid": "uid-c",
    "agents.x-k8s.io/launch-type": "warm",
    "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97",
  });
  expect(metadata.annotations).toMatchObject({
    "agents.x-k8s.io/assigned-at": "2026-11-21T12:00:00.000Z",
    "agents.x-k8s.io/pod-name": "warm-1",
    "agents.x-k8s.io/sandbox-template-ref": "python",
    "agents.x-k8s.io/claim-pod-metadata": "{}",
  });
});

test("a cold Sandbox stays cold, and its Pod's metadata is the claim's already", () => {
  const cold = aColdSandbox(aClaim("c"));
  const { metadata, spec } = swap(cold, aClaim("c"));
  expect(metadata.labels).toMatchObject({ "agents.x-k8s.io/launch-type": "cold" });
  expect(metadata.annotations).toMatchObject({ "agents.x-k8s.io/assigned-at": "2026-11-21T12:00:00.000Z" });
  expect(spec).toEqual(cold.spec);
});

test("a cold Sandbox changes hands as it was made, though the template is another by now", () => {
  const cold = aColdSandbox(aClaim("c"));
  const template = aTemplate({
    spec: { podTemplate: { metadata: { labels: { app: "new" } }, spec: { containers: [] } } },
  });
  expect(swap(cold, aClaim("c"), { template }).spec).toEqual(cold.spec);
});

test.for([aMember(1), aColdSandbox(aClaim("c"))])(
  "no word of mode or shutdown is applied: they are the user's",
  (sandbox) => {
    const view = viewOf(aPoolRequest({ sandboxes: [sandbox] }), NOW);
    expect(Object.keys(handedOver(view, sandbox, aClaim("c"), NOW).spec ?? {})).toEqual(["podTemplate"]);
  },
);

test("the client's name and trace go along, the pool's own name as client does not", () => {
  const asked = aClaim("c", {
    metadata: {
      labels: { "agents.x-k8s.io/created-by": "go-client" },
      annotations: { [TRACE]: '{"traceparent":"00"}' },
    },
  });
  for (const sandbox of [aMember(1), aColdSandbox(asked)]) {
    const { metadata } = swap(sandbox, asked);
    expect(metadata.labels).toMatchObject({ "agents.x-k8s.io/created-by": "go-client" });
  }
  const { metadata, spec } = swap(aMember(1), asked);
  expect(metadata.annotations).toMatchObject({ [TRACE]: '{"traceparent":"00"}' });
  expect(spec.podTemplate.metadata?.labels).toMatchObject({ "agents.x-k8s.io/created-by": "go-client" });
  expect(swap(aMember(1), aClaim("c")).metadata.labels).not.toHaveProperty("agents.x-k8s.io/created-by");
});

const SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const tracked = {
  "agents.x-k8s.io/claim-uid": "uid-c",
  "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97",
};
const old = {
  metadata: {
    labels: { "agents.x-k8s.io/warm-pool-sandbox": "81fa6638", app: "old" },
    annotations: { [SAFE]: "true", a: "1" },
  },
  spec: { containers: [] },
};
const podMetadata = [
  {
    name: "a template without any",
    reason: "what the member has is the pool's, and goes",
    template: aTemplate(),
    want: { labels: tracked },
  },
  {
    name: "a template that had some when the member was made",
    reason: "it is replaced, not merged",
    sandbox: aMember(1, { applied: { spec: { podTemplate: old } } }),
    template: aTemplate(),
    want: { labels: tracked },
  },
  {
    name: "a template with some",
    reason: "it is the template's as it is now",
    template: aTemplate({
      spec: {
        podTemplate: { metadata: { labels: { app: "x" }, annotations: { [SAFE]: "false" } }, spec: { containers: [] } },
      },
    }),
    want: { labels: { ...tracked, app: "x" }, annotations: { [SAFE]: "false" } },
  },
  {
    name: "no template",
    reason: "the member's own, without the pool's",
    sandbox: aMember(1, { applied: { spec: { podTemplate: old } } }),
    template: null,
    want: { labels: { ...tracked, app: "old" }, annotations: { a: "1" } },
  },
  {
    name: "no template, and evictable no by hand",
    reason: "only the pool's own word goes",
    sandbox: aMember(1, {
      applied: { spec: { podTemplate: { ...old, metadata: { annotations: { [SAFE]: "false" } } } } },
    }),
    template: null,
    want: { labels: tracked, annotations: { [SAFE]: "false" } },
  },
];
test.for(podMetadata)("a Pod's metadata with $name", ({ sandbox = aMember(1), template, want, reason }) => {
  expect(swap(sandbox, aClaim("c"), { template }).spec.podTemplate.metadata, reason).toEqual(want);
});

test("what the claim adds is on the Pod and on record", () => {
  const additionalPodMetadata = { labels: { "sandbox.users.io/team": "blue" }, annotations: { note: "x" } };
  const { metadata, spec } = swap(aMember(1), aClaim("c", { spec: { additionalPodMetadata } }));
  expect(spec.podTemplate.metadata).toMatchObject(additionalPodMetadata);
  expect(metadata.annotations?.["agents.x-k8s.io/claim-pod-metadata"]).toBe(
    '{"annotations":{"note":"x"},"labels":{"sandbox.users.io/team":"blue"}}',
  );
});

test("where the keeper has taken the Pod's spec out of what was applied, it stays out", () => {
  const containers = [{
    name: "main",
    ports: [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }],
  }];
  const quiet = aMember(1, { applied: { spec: { podTemplate: {} } }, spec: { podTemplate: { spec: { containers } } } });
  expect(swap(quiet, aClaim("c")).spec.podTemplate.spec).toEqual({ containers });
});

test("what a user has added stays: labels, owners that do not control, the shutdown time", () => {
  const user = { apiVersion: "v1", kind: "ConfigMap", name: "mine", uid: "uid-mine" };
  const member = aMember(1);
  const touched = aMember(1, {
    metadata: { labels: { mine: "1" }, ownerReferences: [...member.metadata.ownerReferences ?? [], user] },
    spec: { shutdownPolicy: "Delete" },
  });
  const { metadata, spec } = swap(touched, aClaim("c"));
  expect(metadata.labels).toMatchObject({ mine: "1" });
  expect(metadata.ownerReferences).toEqual(expect.arrayContaining([user, claimRef(aClaim("c"))]));
  expect(metadata.ownerReferences).toHaveLength(2);
  expect(spec.shutdownPolicy).toBe("Delete");
});

test("handing over comes with a look soon after: Metacontroller does not tell the pool that it has lost a member", () => {
  const answer = syncPool({ pool: aPool({ spec: { replicas: 1 } }), sandboxes: [aMember(1)], claims: [aClaim("c")] });
  expect(named(answer, "warm-1")?.metadata.ownerReferences).toEqual([claimRef(aClaim("c"))]);
  expect(answer.resyncAfterSeconds).toBe(0.03);
});
