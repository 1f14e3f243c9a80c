/** Builders of pools, their Sandboxes and claims, written out as the API server would show them; nothing is computed. @module */
import { type Sandbox, sandboxSchema } from "../packages/api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../packages/api/sandboxclaim.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../packages/api/sandboxwarmpool.ts";
import { canonicalJson, LAST_APPLIED_ANNOTATION } from "../packages/api/objects/apply.ts";
import { NOW } from "./sandboxes.ts";

const API = "extensions.agents.x-k8s.io/v1beta1";
const DEFAULTS = { operatingMode: "Running", shutdownPolicy: "Retain" };

/** Parts of an object that are laid over a builder's default. */
export interface Over {
  metadata?: object;
  spec?: object;
  status?: object;
}

/** Makes a pool `warm` of three in `team-a`, of the template `python`. */
export function aPool({ metadata, spec, status }: Over = {}): SandboxWarmPool {
  return sandboxWarmPoolSchema.parse({
    apiVersion: API,
    kind: "SandboxWarmPool",
    metadata: { name: "warm", namespace: "team-a", uid: "uid-warm", generation: 1, ...metadata },
    spec: { replicas: 3, sandboxTemplateRef: { name: "python" }, ...spec },
    ...(status ? { status } : {}),
  });
}

/** Status of a pool that counts on from all of its members. */
export const COUNTED = { sequence: 1_000_000 };

/** Makes a claim on `warm`, ten seconds old. */
export function aClaim(name: string, { metadata, spec, status }: Over = {}): SandboxClaim {
  return sandboxClaimSchema.parse({
    apiVersion: API,
    kind: "SandboxClaim",
    metadata: { name, namespace: "team-a", uid: `uid-${name}`, generation: 1, creationTimestamp: ago(10), ...metadata },
    spec: { warmPoolRef: { name: "warm" }, ...spec },
    ...(status ? { status } : {}),
  });
}

/** Returns the time so many seconds before {@link NOW}, as the API server writes it. */
export function ago(seconds: number): string {
  return new Date(NOW.getTime() - seconds * 1000).toISOString().replace(".000Z", "Z");
}

const condition = (type: string, status: string, reason: string, message = "") => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-11-21T11:00:00Z",
});
const waiting = condition("Ready", "False", "DependenciesNotReady", "Pod is not Ready");
const podIPs = ["10.1.0.7"];

/** Statuses of Sandboxes, by what is the matter. */
export const STATUS = {
  ready: { conditions: [condition("Ready", "True", "DependenciesReady", "Pod is Ready")], podIPs },
  readyWithoutAddress: { conditions: [condition("Ready", "True", "DependenciesReady", "Pod is Ready")] },
  starting: { conditions: [waiting], podIPs },
  coming: { conditions: [waiting] },
  none: undefined,
  finished: {
    conditions: [
      condition("Ready", "False", "PodFailed", "Pod has failed"),
      condition("Finished", "True", "PodFailed", "Pod has failed"),
    ],
    podIPs,
  },
  suspended: { conditions: [condition("Ready", "False", "SandboxSuspended", "Sandbox is suspended")] },
  expired: { conditions: [condition("Ready", "False", "SandboxExpired", "Sandbox has expired")] },
  invalid: { conditions: [condition("Ready", "False", "InvalidConfiguration", "Error seen: bad name")] },
  refused: { conditions: [condition("Ready", "False", "ReconcilerError", "Error seen: denied by the quota webhook")] },
  overQuota: { conditions: [condition("Ready", "False", "ReconcilerError", 'Error seen: exceeded quota: "small"')] },
  unschedulable: {
    conditions: [waiting, condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")],
  },
  gated: { conditions: [waiting, condition("PodScheduled", "False", "SchedulingGated", "Scheduling is blocked")] },
  unscheduled: { conditions: [waiting, condition("PodScheduled", "False", "SchedulerError", "try again")] },
  imagePull: { conditions: [waiting, condition("ContainersFailing", "True", "ImagePullFailed", "no such image")] },
  crashing: {
    conditions: [waiting, condition("ContainersFailing", "True", "ContainerCrashing", "exit code 1")],
    podIPs,
  },
};

/** A Sandbox of a pool: how it is, how many seconds old, and what is laid over the default. */
export interface Seen extends Over {
  state?: keyof typeof STATUS;
  age?: number;
  /** Laid over the metadata and spec that were applied; null: another controller has made it. */
  applied?: { metadata?: object; spec?: object } | null;
}

const OWNER = {
  apiVersion: API,
  kind: "SandboxWarmPool",
  name: "warm",
  uid: "uid-warm",
  controller: true,
  blockOwnerDeletion: true,
};
const TRACKED = {
  "agents.x-k8s.io/warm-pool-sandbox": "81fa6638",
  "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97",
  "agents.x-k8s.io/sandbox-pod-template-hash": "11d95071",
  "agents.x-k8s.io/sandbox-template-hash": "bb24de08",
};
const POD_SPEC = {
  automountServiceAccountToken: false,
  containers: [{ name: "main", image: "python" }],
  dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] },
  dnsPolicy: "None",
};

/** Makes the pool's member of a number, Ready and a minute old, as it would be made for {@link aTemplate}. */
export function aMember(number: number, seen: Seen = {}): Sandbox {
  const name = `warm-${number.toString(36)}`;
  const metadata = {
    name,
    labels: { ...TRACKED, "agents.x-k8s.io/launch-type": "warm", "agents.x-k8s.io/created-by": "controller" },
    annotations: {
      "agents.x-k8s.io/sandbox-template-ref": "python",
      "agents.x-k8s.io/pod-name": name,
      "metacontroller.k8s.io/decorator-controller": "sandboxclaim",
      "agents.x-k8s.io/pool-sequence": `${number}/${number}`,
    },
    ownerReferences: [OWNER],
  };
  const podMetadata = { labels: TRACKED, annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" } };
  return shown({ metadata, spec: { podTemplate: { metadata: podMetadata, spec: POD_SPEC } } }, seen);
}

/** Makes the Sandbox that the pool has made for a claim alone, Ready. */
export function aColdSandbox({ metadata: { name, uid = "" } }: SandboxClaim, seen: Seen = {}): Sandbox {
  const hash = { "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97" };
  const metadata = {
    name,
    labels: { "agents.x-k8s.io/launch-type": "cold", ...hash },
    annotations: {
      "agents.x-k8s.io/sandbox-template-ref": "python",
      "agents.x-k8s.io/pod-name": name,
      "metacontroller.k8s.io/decorator-controller": "sandboxclaim",
      "agents.x-k8s.io/for-claim": uid,
      "agents.x-k8s.io/claim-pod-metadata": "{}",
    },
    ownerReferences: [OWNER],
  };
  const podMetadata = { labels: { "agents.x-k8s.io/claim-uid": uid, ...hash } };
  return shown({ metadata, spec: { podTemplate: { metadata: podMetadata, spec: POD_SPEC } } }, seen);
}

/** Shows a Sandbox as the API server has it after Metacontroller has made it so. */
function shown(made: { metadata: Loose; spec: Loose }, { state = "ready", age = 60, applied = {}, ...over }: Seen) {
  const type = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" };
  const { metadata, spec } = withOver(made, applied ?? {});
  metadata["labels"] = { "controller-uid": "uid-warm", ...metadata["labels"] };
  const lastApplied = { [LAST_APPLIED_ANNOTATION]: canonicalJson({ ...type, metadata, spec }) };
  const system = {
    namespace: "team-a",
    uid: `uid-${metadata["name"]}`,
    resourceVersion: "1",
    creationTimestamp: ago(age),
  };
  const observed = withOver({ metadata: { ...metadata, ...system }, spec: { ...DEFAULTS, ...spec } }, over);
  const annotations = { ...(applied ? lastApplied : {}), ...observed.metadata["annotations"] };
  return sandboxSchema.parse({
    ...type,
    metadata: { ...observed.metadata, annotations },
    spec: observed.spec,
    ...(over.status ?? STATUS[state] ? { status: over.status ?? STATUS[state] } : {}),
  });
}

// deno-lint-ignore no-explicit-any -- builders go through a schema in the end
type Loose = Record<string, any>;

/** Lays metadata over metadata, its labels and annotations key by key (undefined and null take one away), and spec over spec. */
function withOver(object: { metadata: Loose; spec: Loose }, over: { metadata?: Loose; spec?: Loose }) {
  const { labels, annotations, ...rest } = over.metadata ?? {};
  const joined = (map: Loose, added: Loose = {}) =>
    Object.fromEntries(
      Object.entries({ ...map, ...added }).filter(([, value]) => value !== undefined && value !== null),
    );
  return {
    metadata: {
      ...object.metadata,
      ...rest,
      labels: joined(object.metadata["labels"], labels),
      annotations: joined(object.metadata["annotations"], annotations),
    } as Loose,
    spec: { ...object.spec, ...over.spec } as Loose,
  };
}

/** Takes a Sandbox as a claim's that has come back: it is the pool's again, but last applied as the claim's. */
export function aReturned(number: number, over: Over = {}): Sandbox {
  const claim = { ...OWNER, kind: "SandboxClaim", name: "gone", uid: "uid-gone" };
  const labels = { "agents.x-k8s.io/claim-uid": "uid-gone" };
  return aMember(number, {
    applied: { metadata: { labels, ownerReferences: [claim] } },
    ...over,
    metadata: { ownerReferences: [OWNER], ...over.metadata },
  });
}
