/** What a diagnosis is made from: whatever was read of the objects around a subject. Types only; nothing is required. @module */
import type { Sandbox } from "../sandbox.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import type { SandboxWarmPool } from "../sandboxwarmpool.ts";
import type { KubeObject, ObjectMeta } from "../objects/objects.ts";
import type { ObjectRef } from "./finding.ts";
import type { PodFact } from "./podfact.ts";

/** What was asked about. */
export interface Subject extends ObjectRef {
  kind: "Sandbox" | "SandboxClaim" | "SandboxWarmPool" | "SandboxTemplate";
  namespace: string;
}

/** Everything that is known. A key that is absent was not read; `null`: it was looked for and does not exist. */
export interface Facts {
  subject: Subject;
  claim?: SandboxClaim | null;
  pool?: SandboxWarmPool | null;
  template?: SandboxTemplate | null;
  /** The object with the name of the template's NetworkPolicy. Read only if the subject is a template. */
  policy?: KubeObject | null;
  /** The claim's, given or made for it; of a pool, the member that {@link worstMember} names; or the subject. */
  sandbox?: Sandbox | null;
  /** Of a pool that is the subject. */
  members?: Sandbox[];
  /** The Pod of that Sandbox's name, whoever's it is. */
  pod?: PodFact | null;
  /** Of any of these objects. */
  events?: EventFact[];
  /** Of the namespace. */
  volumeClaims?: VolumeClaimFact[];
  quotas?: QuotaFact[];
  storageClasses?: NamedFact[];
  nodes?: NodeFact[];
  /** The binder's, which says whether anybody gives claims their Sandboxes. */
  binder?: LeaseFact | null;
  /** What could not be read, and in whose words: `pods`, `forbidden: …`. */
  unreadable?: { what: string; message: string }[];
}

/** An Event, of either API group. */
export interface EventFact {
  /** UID of what it is about; absent in some. */
  uid?: string;
  object: ObjectRef;
  reason: string;
  message: string;
  /** RFC 3339: when it was first and last seen. */
  first?: string;
  last?: string;
}

export interface NamedFact {
  metadata: ObjectMeta;
}

/** A Lease; without a holder it was given back. */
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
