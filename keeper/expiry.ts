/** Which Sandboxes and claims have expired and are to be deleted. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { expiryTime } from "../claims/expirytime.ts";
import { type Condition, findCondition } from "../lib/conditions.ts";
import type { ObjectMeta } from "../lib/objects.ts";

/** How the API server deletes: dependents afterwards, or dependents first. */
type Propagation = "Background" | "Foreground";

/** What to do about the expiry of an object; `until` is in milliseconds since the epoch. */
export type ExpiryVerdict =
  | { verdict: "keep" }
  | { verdict: "wait"; until: number }
  | { verdict: "delete"; propagation: Propagation };

/** What an object says of its expiry. */
interface Expiry {
  /** Reason of the Ready condition by which its hook publishes it. */
  reason: string;
  /** When, by the spec, in milliseconds since the epoch; NaN: never. */
  until: number;
  /** Absent: its policy is to keep it. */
  propagation: Propagation | undefined;
}

interface Expiring {
  metadata: ObjectMeta;
  status?: { conditions?: Condition[] | undefined } | undefined;
}

/** Judges a Sandbox: `Delete` deletes it in the background. */
export function sandboxExpiryVerdict(sandbox: Sandbox, now: number): ExpiryVerdict {
  const { shutdownPolicy, shutdownTime = "" } = sandbox.spec;
  const propagation = shutdownPolicy === "Delete" ? "Background" : undefined;
  return expiryVerdict(sandbox, { reason: "SandboxExpired", until: Date.parse(shutdownTime), propagation }, now);
}

/**
 * Judges a claim: `Delete` deletes it in the background, `DeleteForeground` once Sandbox and Pod have gone.
 * Source: Agent Sandbox API, section 3.5.6.
 */
export function claimExpiryVerdict(claim: SandboxClaim, now: number): ExpiryVerdict {
  const propagation = claimPropagation(claim.spec.lifecycle?.shutdownPolicy);
  return expiryVerdict(claim, { reason: "ClaimExpired", until: expiryTime(claim) ?? NaN, propagation }, now);
}

/**
 * Decides whether an object is deleted because it has expired: what its hook has published and its spec both say so.
 *
 * | published: Ready has the reason, of this generation | policy | time by this clock | verdict |
 * |---|---|---|---|
 * | no | any | any | keep |
 * | yes | Retain | any | keep |
 * | yes | any other | ahead: our clock is behind the hook's | wait |
 * | yes | any other | past | delete |
 * | yes | any other | absent, or no time | keep |
 *
 * One that is being deleted is kept, too: somebody else was first.
 */
function expiryVerdict(object: Expiring, { reason, until, propagation }: Expiry, now: number): ExpiryVerdict {
  const isBeingDeleted = object.metadata.deletionTimestamp !== undefined;
  if (isBeingDeleted || !propagation || Number.isNaN(until) || !isPublished(object, reason)) return { verdict: "keep" };
  return until > now ? { verdict: "wait", until } : { verdict: "delete", propagation };
}

/** Tells whether the hook has published the expiry, and of this spec: another one may have changed its mind. */
function isPublished({ metadata, status }: Expiring, reason: string): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.reason !== reason) return false;
  return ready.observedGeneration === undefined || ready.observedGeneration === metadata.generation;
}

function claimPropagation(policy: string | undefined): Propagation | undefined {
  if (policy === "Delete") return "Background";
  return policy === "DeleteForeground" ? "Foreground" : undefined;
}
