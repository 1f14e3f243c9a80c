/** Builders for tests of claims: a claim, the Sandbox bound to it, a request, and how Metacontroller applies an answer. @module */
import type { ClaimConfig } from "../hooks/flags.ts";
import { type Sandbox, sandboxSchema } from "../packages/api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema, type SandboxClaimStatus } from "../packages/api/sandboxclaim.ts";
import { syncSandboxClaim } from "../hooks/sandboxclaim/sync.ts";
import { applyUpdate, canonicalJson, LAST_APPLIED_ANNOTATION, sameJson } from "../packages/api/objects/apply.ts";
import { type Condition, findCondition } from "../packages/api/objects/conditions.ts";
import { type Decorated, decoratorRequestSchema } from "../packages/webhook/metacontroller.ts";
import type { DesiredObject } from "../packages/api/objects/objects.ts";
import { NOW } from "./sandboxes.ts";

type Fields = Record<string, unknown>;

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
export const CONFIG: ClaimConfig = { allowedLabelDomains: ["sandbox.users.io"], allowedAnnotationDomains: undefined };

/** The time so many seconds after {@link NOW}, as metav1.Time is written. */
export function after(seconds: number): string {
  return new Date(NOW.getTime() + seconds * 1000).toISOString().replace(".000Z", "Z");
}

/** A condition that holds since a minute. */
export function aCondition(type: string, status: string, reason: string, message = reason): Condition {
  return { type, status, reason, message, lastTransitionTime: after(-60) } as Condition;
}

/** Makes a claim named `job`, ten seconds old. */
export function aClaim(over: { metadata?: object; spec?: object; status?: object } = {}): SandboxClaim {
  const metadata = { name: "job", namespace: "team-a", uid: "uid-job", generation: 3, creationTimestamp: after(-10) };
  return sandboxClaimSchema.parse({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { ...metadata, ...over.metadata },
    spec: { warmPoolRef: { name: "warm" }, ...over.spec },
    ...(over.status ? { status: over.status } : {}),
  });
}

/** Makes a claim that shows its Sandbox. */
export function aBoundClaim(over: { metadata?: object; spec?: object; status?: object } = {}): SandboxClaim {
  return aClaim({
    ...over,
    metadata: {
      annotations: {
        [KEY("sandbox-name")]: "warm-1",
        [KEY("controller-first-observed-at")]: "2026-11-21T11:59:50.123Z",
        [KEY("claim-first-ready-at")]: "2026-11-21T11:59:50.456Z",
      },
      ...over.metadata,
    },
    status: {
      conditions: [{ ...aCondition("Ready", "True", "DependenciesReady", "Pod is Ready"), observedGeneration: 3 }],
      sandbox: { name: "warm-1", podIPs: ["10.1.0.7"] },
      ...over.status,
    },
  });
}

/** What the binder said of the Sandbox when it handed it over, ten seconds ago. */
export function anApplied(over: { metadata?: object; annotations?: object; podTemplate?: object } = {}) {
  const claim = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "job", uid: "uid-job" };
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name: "warm-1",
      namespace: "team-a",
      labels: { [KEY("claim-uid")]: "uid-job", [KEY("launch-type")]: "warm" },
      annotations: {
        [KEY("assigned-at")]: "2026-11-21T11:59:50.100Z",
        [KEY("claim-pod-metadata")]: "{}",
        [KEY("pod-name")]: "warm-1",
        "metacontroller.k8s.io/decorator-controller": "sandboxclaim",
        ...over.annotations,
      },
      ownerReferences: [{ ...claim, controller: true, blockOwnerDeletion: true }],
      ...over.metadata,
    },
    spec: {
      podTemplate: {
        metadata: { labels: { app: "agent", [KEY("claim-uid")]: "uid-job" } },
        spec: { containers: [{ name: "main", image: "busybox" }] },
        ...over.podTemplate,
      },
    },
  };
}

/** The parts of a Sandbox that others have set since; `lastApplied` is the annotation's object, null: there is none. */
export interface Since {
  metadata?: Fields;
  spec?: Fields;
  status?: Fields;
  lastApplied?: object | null;
}

/** Makes the claim's Sandbox `warm-1`, Ready, as the API server shows what was applied. */
export function aClaimed(since: Since = {}, applied = anApplied()): Sandbox {
  const { lastApplied = applied } = since;
  const note = lastApplied === null ? {} : { [LAST_APPLIED_ANNOTATION]: canonicalJson(lastApplied) };
  const { annotations, ...metadata } = since.metadata ?? {};
  return sandboxSchema.parse({
    ...applied,
    metadata: {
      ...applied.metadata,
      uid: "uid-warm-1",
      resourceVersion: "7",
      generation: 2,
      creationTimestamp: after(-600),
      ...metadata,
      annotations: { ...applied.metadata.annotations, ...note, ...annotations as object },
    },
    spec: { ...applied.spec, operatingMode: "Running", shutdownPolicy: "Retain", ...since.spec },
    status: {
      conditions: [aCondition("Ready", "True", "DependenciesReady", "Pod is Ready")],
      podIPs: ["10.1.0.7"],
      ...since.status,
    },
  });
}

/** Makes a request as Metacontroller sends it. */
export function aClaimRequest(object: SandboxClaim, sandboxes: Sandbox[] = []) {
  const named = sandboxes.map((sandbox) => [`team-a/${sandbox.metadata.name}`, sandbox] as const);
  const attachments = { "Sandbox.agents.x-k8s.io/v1beta1": Object.fromEntries(named) };
  return { controller: {}, object, attachments, related: {}, finalizing: false };
}

/** Calls the hook. */
export function syncClaim(
  claim: SandboxClaim,
  sandboxes: Sandbox[] = [],
  { now = NOW, config = CONFIG }: { now?: Date; config?: ClaimConfig } = {},
): Decorated<SandboxClaimStatus> {
  const observed = decoratorRequestSchema(sandboxClaimSchema).parse(aClaimRequest(claim, sandboxes));
  return syncSandboxClaim(observed, now, config);
}

/** The Ready condition of an answer as `status reason message`; undefined: no status was answered. */
export function readyText({ status }: Decorated<SandboxClaimStatus>): string | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  return ready && `${ready.status} ${ready.reason} ${ready.message}`;
}

/** Returns the claim as it is once an answer has been written to it. */
export function written(claim: SandboxClaim, answer: Decorated<SandboxClaimStatus>): SandboxClaim {
  const { labels, annotations } = claim.metadata;
  return sandboxClaimSchema.parse({
    ...claim,
    metadata: {
      ...claim.metadata,
      labels: changed(labels, answer.labels),
      annotations: changed(annotations, answer.annotations),
    },
    ...(answer.status ? { status: answer.status } : {}),
  });
}

/** Returns what Metacontroller would PUT for an answered attachment; undefined: nothing. */
export function putOf(observed: Sandbox, { metadata, ...rest }: DesiredObject): Sandbox | undefined {
  const annotations = { ...metadata.annotations, "metacontroller.k8s.io/decorator-controller": "sandboxclaim" };
  const updated = applyUpdate(observed, { ...rest, metadata: { ...metadata, namespace: "team-a", annotations } });
  return sameJson(updated, observed) ? undefined : updated;
}

function changed(map: Record<string, string> | undefined, changes: Record<string, string | null> | undefined) {
  const merged = { ...map, ...changes };
  return Object.fromEntries(Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null));
}
