/** The types of all observed objects from which a diagnosis is computed. Every field is optional. @module */
import type { KubeObject, ObjectMeta } from "../objects/objects.ts";
import type { Sandbox } from "../sandbox.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import type { SandboxWarmPool } from "../sandboxwarmpool.ts";
import type { ObjectRef } from "./finding.ts";

/** The object that the diagnosis is about. */
export interface Subject extends ObjectRef {
  kind: "Sandbox" | "SandboxClaim" | "SandboxWarmPool" | "SandboxTemplate";
  namespace: string;
}

/** All observed objects. Absent: the object was not read. `null`: the object does not exist. */
export interface Facts {
  subject: Subject;
  claim?: SandboxClaim | null;
  pool?: SandboxWarmPool | null;
  template?: SandboxTemplate | null;
  /** The object with the name of the template's NetworkPolicy. Read only if the subject is a template. */
  policy?: KubeObject | null;
  /**
   * The claim's Sandbox, bound to it or created for it. If the subject is a pool: the member that {@link worstMember}
   * returns. If the subject is a Sandbox: the subject.
   */
  sandbox?: Sandbox | null;
  /** The members of the pool. Read only if the subject is a pool. */
  members?: Sandbox[];
  /** The Pod with the name of that Sandbox, even if it has another owner. */
  pod?: PodFact | null;
  /** Events about any of these objects. */
  events?: EventFact[];
  /** The PersistentVolumeClaims of the subject's namespace. */
  volumeClaims?: VolumeClaimFact[];
  quotas?: QuotaFact[];
  storageClasses?: NamedFact[];
  nodes?: NodeFact[];
  /** The binder's Lease, which shows whether a binder is running. */
  binder?: LeaseFact | null;
  /** What could not be read, with the error message, such as `pods` and `forbidden: …`. */
  unreadable?: { what: string; message: string }[];
}

/** An Event of one of the two API groups. */
export interface EventFact {
  /** UID of the object that the Event is about. Some Events have none. */
  uid?: string;
  object: ObjectRef;
  reason: string;
  message: string;
  /** When the Event was first and last seen, in RFC 3339. */
  first?: string;
  last?: string;
}

export interface NamedFact {
  metadata: ObjectMeta;
}

/** A Lease. If it has no holder, the holder has released it. */
export interface LeaseFact extends NamedFact {
  spec?: { holderIdentity?: string | null; renewTime?: string; leaseDurationSeconds?: number };
}

export interface VolumeClaimFact extends NamedFact {
  spec?: { storageClassName?: string; volumeName?: string };
  status?: { phase?: string };
}

export interface QuotaFact extends NamedFact {
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
}

export interface NodeFact extends NamedFact {
  spec?: { taints?: { key: string; value?: string; effect: string }[]; unschedulable?: boolean };
  status?: {
    allocatable?: Record<string, string>;
    conditions?: { type: string; status: string; message?: string; lastTransitionTime?: string }[];
  };
}

export interface PodFact {
  metadata: ObjectMeta;
  spec?: PodSpecFact;
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: PodConditionFact[];
    initContainerStatuses?: ContainerFact[];
    containerStatuses?: ContainerFact[];
  };
}

export interface PodConditionFact {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface PodSpecFact {
  nodeName?: string;
  restartPolicy?: string;
  schedulerName?: string;
  serviceAccountName?: string;
  runtimeClassName?: string;
  schedulingGates?: { name: string }[];
  readinessGates?: { conditionType: string }[];
  nodeSelector?: Record<string, string>;
  affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: NodeSelectorFact } };
  tolerations?: { key?: string; operator?: string; value?: string; effect?: string }[];
  containers?: {
    name: string;
    image?: string;
    resources?: { requests?: Record<string, string> };
    livenessProbe?: object;
    startupProbe?: object;
  }[];
  volumes?: {
    name: string;
    persistentVolumeClaim?: { claimName: string };
  }[];
}

export interface NodeSelectorFact {
  nodeSelectorTerms?: { matchExpressions?: { key: string; operator: string; values?: string[] }[] }[];
}

export interface ContainerFact {
  name: string;
  image?: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: ContainerStateFact;
  lastState?: ContainerStateFact;
}

export interface ContainerStateFact {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: { exitCode?: number; reason?: string; message?: string; startedAt?: string; finishedAt?: string };
}
