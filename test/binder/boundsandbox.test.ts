/** The binding: one write that leaves the claim as the only controller, the Pod as it is, and Metacontroller nothing to do. @module */
import { expect, test } from "vitest";
import { type Sandbox, sandboxSchema } from "../../packages/api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import { syncSandboxClaim } from "../../hooks/sandboxclaim/sync.ts";
import { specHash } from "../../hooks/sandbox/pod.ts";
import { RESIZED_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { canonicalJson, LAST_APPLIED_ANNOTATION, lastApplied } from "../../packages/api/objects/apply.ts";
import { decoratorRequestSchema } from "../../packages/webhook/metacontroller.ts";
import { aClaimRequest, CONFIG, putOf } from "../claimbuilders.ts";
import { aClaim, ago, aMember, type Seen } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const TRACE = "opentelemetry.io/trace-context";

function swap(sandbox: Sandbox, claim: SandboxClaim, template: SandboxTemplate | null = aTemplate()): Sandbox {
  return boundMember(sandbox, claim, template ?? undefined, NOW);
}

/** A member as Metacontroller has made it: what it remembers as applied names the namespace. */
function theMember(number: number, { applied, ...seen }: Seen = {}): Sandbox {
  return aMember(number, { ...seen, applied: { ...applied, metadata: { namespace: "team-a" } } });
}

/** What Metacontroller would PUT next, after what the hook of the bound claim answers; undefined: nothing. */
function nextPut(sandbox: Sandbox, { status: _, ...object }: SandboxClaim, isBound = true): Sandbox | undefined {
  const claim = isBound ? { ...object, status: { sandbox: { name: sandbox.metadata.name } } } : object;
  const request = decoratorRequestSchema(sandboxClaimSchema).parse(aClaimRequest(claim, [sandbox]));
  const [desired] = syncSandboxClaim(request, NOW, CONFIG).attachments;
  return desired && putOf(sandbox, desired);
}

/** A member as the API server might show it to a watch: without what a parser would add, with what it does not know. */
function aRawMember(): Sandbox {
  const { operatingMode: _, shutdownPolicy: __, ...spec } = theMember(1).spec as Record<string, unknown>;
  return { ...theMember(1), spec: { ...spec, strange: 1 } } as unknown as Sandbox;
}

const claimRef = ({ metadata: { name, uid } }: SandboxClaim) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

const WISHES = { additionalPodMetadata: { labels: { "sandbox.users.io/team": "blue" }, annotations: { note: "x" } } };
const RESOURCES = { metadata: { annotations: { "agents.x-k8s.io/resources": "cpu=2,memory=4Gi" } } };
const swaps = [
  ["a member", theMember(1), aClaim("c")],
  ["a member to a claim with wishes", theMember(1), aClaim("c", { spec: WISHES })],
  ["a member to a claim of the pool's name", theMember(1), aClaim("warm")],
  ["a member to a claim of the member's name", theMember(1), aClaim("warm-1")],
  ["a member as it was written, without defaults", aRawMember(), aClaim("c")],
  ["a member with volumes and a Service", theMember(1, { applied: { spec: { service: true } } }), aClaim("c")],
] as const;
test.for(swaps)("%s: metadata apart, only the Pod's metadata changes", ([, sandbox, claim]) => {
  const { metadata, spec, ...rest } = swap(sandbox, claim);
  const { metadata: before, spec: specBefore, ...restBefore } = sandbox;
  expect(spec).toEqual({ ...specBefore, podTemplate: { ...specBefore.podTemplate, metadata: expect.anything() } });
  expect(rest).toEqual(restBefore);
  const { labels: _, annotations: __, ownerReferences, ...system } = metadata;
  const { labels: ___, annotations: ____, ownerReferences: _____, ...systemBefore } = before;
  expect(system).toEqual(systemBefore);
  expect(ownerReferences).toEqual([claimRef(claim)]);
});

test("a member to a claim that asks for resources: CPU and memory of the first container change, too", () => {
  const given = sandboxSchema.parse(swap(theMember(1), aClaim("c", RESOURCES)));
  const plain = sandboxSchema.parse(swap(theMember(1), aClaim("c", { metadata: { annotations: {} } })));
  const [main] = plain.spec.podTemplate.spec.containers;
  const resized = { ...main, resources: { requests: { cpu: "2", memory: "4Gi" } } };
  expect(given.spec.podTemplate.spec).toEqual({ ...plain.spec.podTemplate.spec, containers: [resized] });
  const { [RESIZED_ANNOTATION]: hashes, ...annotations } = given.metadata.annotations ?? {};
  expect(annotations).toEqual(plain.metadata.annotations);
  expect(hashes).toBe(`${specHash(plain)} ${specHash(given)}`);
});

const withResources = ["a member to a claim that asks for resources", theMember(1), aClaim("c", RESOURCES)] as const;
test.for([...swaps, withResources])(
  "%s: Metacontroller has nothing to do after what the claim's hook answers",
  ([, sandbox, claim]) => {
    const given = sandboxSchema.parse(swap(sandbox, claim));
    expect([nextPut(given, claim, false), nextPut(given, claim)]).toEqual([undefined, undefined]);
  },
);

test("Metacontroller remembers what the claim's hook may change, and no more: it leaves the rest alone", () => {
  const given = swap(theMember(1), aClaim("c", { spec: WISHES }));
  expect(lastApplied(given)).toEqual({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name: "warm-1",
      namespace: "team-a",
      annotations: {
        "agents.x-k8s.io/claim-pod-metadata": given.metadata.annotations?.["agents.x-k8s.io/claim-pod-metadata"],
        "metacontroller.k8s.io/decorator-controller": "sandboxclaim",
      },
    },
    spec: { podTemplate: { metadata: given.spec.podTemplate.metadata } },
  });
});

test("what a claim no longer asks for is removed from its Sandbox, and nothing else is", () => {
  const given = sandboxSchema.parse(swap(theMember(1), aClaim("c", { spec: WISHES })));
  const put = nextPut(given, aClaim("c"));
  const { metadata, spec } = put ?? given;
  expect(spec.podTemplate.metadata).toEqual({ labels: tracked });
  const { [LAST_APPLIED_ANNOTATION]: _, ...annotations } = given.metadata.annotations ?? {};
  expect(metadata.annotations).toMatchObject({ ...annotations, "agents.x-k8s.io/claim-pod-metadata": "{}" });
  expect({ ...metadata, annotations }).toEqual({ ...given.metadata, annotations });
  expect({ ...spec, podTemplate: { ...spec.podTemplate, metadata: given.spec.podTemplate.metadata } }).toEqual(
    given.spec,
  );
});

test("the pool's controller-uid leaves labels and memory: no pool of the same UID or name takes it for its own", () => {
  const given = swap(theMember(1), aClaim("c"));
  expect(given.metadata.labels).not.toHaveProperty("controller-uid");
  expect(canonicalJson(given)).not.toContain('uid-warm"');
});

test("a Sandbox loses the pool's labels and keeps the template's; its annotations stay", () => {
  const { metadata } = swap(theMember(1), aClaim("c"));
  expect(metadata.labels).toEqual({
    "agents.x-k8s.io/claim-uid": "uid-c",
    "agents.x-k8s.io/launch-type": "warm",
    "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97",
  });
  expect(metadata.annotations).toMatchObject({
    "agents.x-k8s.io/assigned-at": "2026-11-21T12:00:00.000Z",
    "agents.x-k8s.io/pod-name": "warm-1",
    "agents.x-k8s.io/sandbox-template-ref": "python",
    "agents.x-k8s.io/claim-pod-metadata": "{}",
    "metacontroller.k8s.io/decorator-controller": "sandboxclaim",
  });
});

test("the same at the same time is the same, and the member is left as it was", () => {
  const member = theMember(1);
  const text = JSON.stringify(member);
  expect(JSON.stringify(swap(member, aClaim("c")))).toBe(JSON.stringify(swap(theMember(1), aClaim("c"))));
  expect(JSON.stringify(member)).toBe(text);
});

test("a trace context that is too long to be one does not go along", () => {
  const asked = (length: number) => aClaim("c", { metadata: { annotations: { [TRACE]: "x".repeat(length) } } });
  expect(swap(theMember(1), asked(512)).metadata.annotations).toHaveProperty([TRACE]);
  expect(swap(theMember(1), asked(513)).metadata.annotations).not.toHaveProperty([TRACE]);
});

test("the client's name and trace go along, the pool's own name as client does not", () => {
  const asked = aClaim("c", {
    metadata: {
      labels: { "agents.x-k8s.io/created-by": "go-client" },
      annotations: { [TRACE]: '{"traceparent":"00"}' },
    },
  });
  const { metadata, spec } = swap(theMember(1), asked);
  expect(metadata.labels).toMatchObject({ "agents.x-k8s.io/created-by": "go-client" });
  expect(metadata.annotations).toMatchObject({ [TRACE]: '{"traceparent":"00"}' });
  expect(spec.podTemplate.metadata?.labels).toMatchObject({ "agents.x-k8s.io/created-by": "go-client" });
  expect(swap(theMember(1), aClaim("c")).metadata.labels).not.toHaveProperty("agents.x-k8s.io/created-by");
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
const ofTemplate = (metadata: object) => aTemplate({ spec: { podTemplate: { metadata, spec: { containers: [] } } } });
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
    sandbox: theMember(1, { applied: { spec: { podTemplate: old } } }),
    template: aTemplate(),
    want: { labels: tracked },
  },
  {
    name: "a template with some",
    reason: "it is the template's as it is now",
    template: ofTemplate({ labels: { app: "x" }, annotations: { [SAFE]: "false" } }),
    want: { labels: { ...tracked, app: "x" }, annotations: { [SAFE]: "false" } },
  },
  {
    name: "no template",
    reason: "the member's own, without the pool's",
    sandbox: theMember(1, { applied: { spec: { podTemplate: old } } }),
    template: null,
    want: { labels: { ...tracked, app: "old" }, annotations: { a: "1" } },
  },
  {
    name: "no template, and evictable no by hand",
    reason: "only the pool's own word goes",
    sandbox: theMember(1, {
      applied: { spec: { podTemplate: { ...old, metadata: { annotations: { [SAFE]: "false" } } } } },
    }),
    template: null,
    want: { labels: tracked, annotations: { [SAFE]: "false" } },
  },
];
test.for(podMetadata)("a Pod's metadata with $name", ({ sandbox = theMember(1), template, want, reason }) => {
  expect(swap(sandbox, aClaim("c"), template).spec.podTemplate.metadata, reason).toEqual(want);
});

test("what the claim adds is on the Pod and on record", () => {
  const { metadata, spec } = swap(theMember(1), aClaim("c", { spec: WISHES }));
  expect(spec.podTemplate.metadata).toMatchObject(WISHES.additionalPodMetadata);
  expect(metadata.annotations?.["agents.x-k8s.io/claim-pod-metadata"]).toBe(
    '{"annotations":{"note":"x"},"labels":{"sandbox.users.io/team":"blue"}}',
  );
});

test("a member whose Pod's spec the keeper has taken out of what was applied keeps it", () => {
  const ports = [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }];
  const containers = [{ name: "main", ports }];
  const quiet = theMember(1, {
    applied: { spec: { podTemplate: {} } },
    spec: { podTemplate: { spec: { containers } } },
  });
  expect(swap(quiet, aClaim("c")).spec.podTemplate.spec).toEqual({ containers });
});

test("what a user has added stays: labels, owners that do not control, mode and shutdown time", () => {
  const user = { apiVersion: "v1", kind: "ConfigMap", name: "mine", uid: "uid-mine" };
  const touched = theMember(1, {
    metadata: { labels: { mine: "1" }, ownerReferences: [...theMember(1).metadata.ownerReferences ?? [], user] },
    spec: { shutdownPolicy: "Delete", shutdownTime: ago(-60) },
  });
  const { metadata, spec } = swap(touched, aClaim("c"));
  expect(metadata.labels).toMatchObject({ mine: "1" });
  expect(metadata.ownerReferences).toEqual(expect.arrayContaining([user, claimRef(aClaim("c"))]));
  expect(metadata.ownerReferences).toHaveLength(2);
  expect(spec).toMatchObject({ shutdownPolicy: "Delete", shutdownTime: ago(-60) });
});

test.for(["c", "warm"])("another owner stays as it is, also if it has the name of the claim or pool: %s", (name) => {
  const user = { apiVersion: "v1", kind: "ConfigMap", name, uid: "uid-mine", blockOwnerDeletion: false };
  const owners = theMember(1).metadata.ownerReferences ?? [];
  for (const ownerReferences of [[...owners, user], [user, ...owners]]) {
    const given = sandboxSchema.parse(swap(theMember(1, { metadata: { ownerReferences } }), aClaim("c")));
    expect(given.metadata.ownerReferences).toEqual([user, claimRef(aClaim("c"))]);
    expect(nextPut(given, aClaim("c"))).toBeUndefined();
  }
});
