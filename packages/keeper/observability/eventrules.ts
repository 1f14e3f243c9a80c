/**
 * Decides which states of objects are reported by an Event, and with which text. Source: Agent Sandbox API, section
 * 5.3.
 * @module
 */
import { expiryTime } from "../../api/expiry.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimCRD } from "../../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { type Condition, findCondition } from "../../api/objects/conditions.ts";
import { GUARDED } from "../../webhook/statusrules.ts";
import type { KubeObject, ObjectMeta } from "../../api/objects/objects.ts";
import type { ClaimView, SandboxView } from "../../summary/views.ts";
import { type Occurrence, type Regarding, regardingOf } from "../../kube/event.ts";
import type { Sight } from "./eventrecorder.ts";
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import type { Problem } from "../../api/keeperreports.ts";
import { policyProblemOf } from "../../api/templatepolicy.ts";
import { UNRESOLVED_ANNOTATION } from "../../api/objects/keys.ts";

/** The reporting controllers according to the contract. */
const SANDBOX_CONTROLLER = "sandbox-controller";
const CLAIM_CONTROLLER = "sandboxclaim-controller";
const POOL_CONTROLLER = "sandboxwarmpool-controller";

/**
 * If a pool's Progressing was first seen True, and turned True this long after the pool's creation, then it turned True
 * again.
 */
const AGAIN_MS = 60_000;

/** Reports a Sandbox that has more than one Pod. */
export function multiplePods(sandbox: Sandbox): Sight {
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  if (ready?.reason !== "MultiplePods") return {};
  return {
    mark: ready.lastTransitionTime,
    occurrence: {
      regarding: regardingOf(sandbox),
      type: "Warning",
      reason: "MultiplePods",
      action: "Reconciling",
      note: ready.message,
      reportingController: SANDBOX_CONTROLLER,
      key: ready.lastTransitionTime,
      at: Date.parse(ready.lastTransitionTime),
    },
  };
}

/**
 * Reports a pool that cannot fill, or can again.
 *
 * | Progressing | before | Event |
 * |---|---|---|
 * | False | False, with any time: a hook that saw an older status may have set a new time | none |
 * | False | otherwise | WarmPoolNotProgressing |
 * | True | False | WarmPoolProgressing |
 * | True | not seen; it turned True more than a minute after the pool's creation | WarmPoolProgressing |
 * | True, Unknown, absent | otherwise | none |
 */
export function poolProgress(pool: SandboxWarmPool, before: string | undefined): Sight {
  const progressing = findCondition(pool.status?.conditions, "Progressing");
  if (!progressing || progressing.status === "Unknown") return { mark: before ?? "" };
  const { status, lastTransitionTime, message } = progressing;
  const mark = `${status} ${lastTransitionTime}`;
  const at = Date.parse(lastTransitionTime);
  const base = { regarding: regardingOf(pool), action: "Reconciling", reportingController: POOL_CONTROLLER, at };
  if (status === "False") {
    if (before?.startsWith("False ")) return { mark: before };
    const reason = "WarmPoolNotProgressing";
    return { mark, occurrence: { ...base, type: "Warning", reason, note: message, key: mark } };
  }
  const isAgain = before === undefined ? at - createdAt(pool.metadata) > AGAIN_MS : before.startsWith("False ");
  if (!isAgain) return { mark };
  const note = "Warm pool is progressing again";
  return { mark, occurrence: { ...base, type: "Normal", reason: "WarmPoolProgressing", note, key: mark } };
}

/** Reports that the guard keeps children that the object's hook would delete. */
export function childrenKept(object: KubeObject): Sight {
  const { conditions } = (object["status"] ?? {}) as { conditions?: Condition[] };
  const guarded = findCondition(conditions, GUARDED);
  if (guarded?.status !== "True") return {};
  const { lastTransitionTime, message } = guarded;
  return {
    mark: GUARDED,
    occurrence: {
      regarding: regardingOf(object),
      type: "Warning",
      reason: "TooManyLosses",
      action: "Reconciling",
      note: message,
      reportingController: `${object.kind.toLowerCase()}-controller`,
      key: `guarded ${lastTransitionTime}`,
      at: Date.parse(lastTransitionTime),
    },
  };
}

/** Reports that a claim's expiry has been published. */
export function claimExpired(claim: SandboxClaim): Sight {
  const ready = findCondition(claim.status?.conditions, "Ready");
  if (ready?.reason !== "ClaimExpired") return {};
  const { lastTransitionTime } = ready;
  // If the claim was not Ready before, the expiry does not change the time of the condition; then the lifecycle has the
  // right time.
  const at = Math.max(Date.parse(lastTransitionTime), createdAt(claim.metadata), expiryTime(claim) ?? -Infinity);
  const expired = { action: "Claim Expired", note: "Claim expired", key: `published ${lastTransitionTime}`, at };
  return { mark: lastTransitionTime, occurrence: { ...aboutClaim(regardingOf(claim), "ClaimExpired"), ...expired } };
}

/** Reports that a claim got a Sandbox: a pool member, or one that was created for it. Undefined: it is not known which. */
export function claimBound(
  claim: ClaimView,
  { launchType, uid, name, assignedAt }: SandboxView,
): Occurrence | undefined {
  const { regarding, createdAt = -Infinity } = claim;
  const bound = { key: uid, at: assignedAt ?? createdAt };
  switch (launchType) {
    case "warm": {
      const note = `Adopted warm pool Sandbox "${name}"`;
      return { ...aboutClaim(regarding, "SandboxAdopted"), action: "Adoption", note, ...bound };
    }
    case "cold": {
      const note = `Created Sandbox "${name}"`;
      return { ...aboutClaim(regarding, "SandboxProvisioned"), action: "Provisioning", note, ...bound };
    }
    case "unknown":
      return undefined;
  }
}

/** Reports that the keeper has just deleted an expired claim. @param policy the claim's `shutdownPolicy` */
export function claimDeleted(metadata: ObjectMeta, policy: string, now: number): Occurrence {
  const { group, version, kind } = sandboxClaimCRD;
  const regarding = regardingOf({ apiVersion: `${group}/${version}`, kind, metadata });
  const note = `Deleting Claim (ShutdownPolicy=${policy})`;
  return { ...aboutClaim(regarding, "ClaimExpired"), action: "Deleting", note, key: "deleting", at: now };
}

/** The fields that all Events of claims have in common. */
function aboutClaim(regarding: Regarding, reason: string) {
  return { regarding, type: "Normal", reason, reportingController: CLAIM_CONTROLLER } as const;
}

function createdAt({ creationTimestamp = "" }: ObjectMeta): number {
  const time = Date.parse(creationTimestamp);
  return Number.isNaN(time) ? -Infinity : time;
}

/** The reporter of templates' Events, as the contract names it. */
const REPORTING_CONTROLLER = "sandboxtemplate-controller";

const REASONS: Record<Problem["state"], string> = {
  taken: "NetworkPolicyNotOwned",
  missing: "NetworkPolicyMissing",
  invalid: "NetworkPolicyRefused",
  refused: "NetworkPolicyRefused",
  stuck: "NetworkPolicyRefused",
};

/** Returns the Event of a template. Each write of the annotation is an occurrence of its own. */
export function policyEvent(template: SandboxTemplate): Sight {
  const { metadata } = template;
  const problem = policyProblemOf(metadata);
  if (!problem) return {};
  const writtenAt = annotatedAt(metadata);
  const mark = `${metadata.annotations?.[UNRESOLVED_ANNOTATION]} ${writtenAt}`;
  return {
    mark,
    occurrence: {
      regarding: regardingOf(template),
      type: "Warning",
      reason: REASONS[problem.state],
      action: "Reconciling",
      note: problem.message,
      reportingController: REPORTING_CONTROLLER,
      key: mark,
      at: Date.parse(writtenAt ?? metadata.creationTimestamp ?? ""),
    },
  };
}

/** The fields that are read of an entry of `metadata.managedFields`. */
interface Writer {
  time?: string;
  fieldsV1?: { "f:metadata"?: { "f:annotations"?: Record<string, unknown> } };
}

/** Returns when the annotation was written. The API server records, for each writer, what it wrote and when. */
function annotatedAt(metadata: ObjectMeta): string | undefined {
  const { managedFields = [] } = metadata as { managedFields?: Writer[] };
  const wrote = ({ fieldsV1 }: Writer) =>
    fieldsV1?.["f:metadata"]?.["f:annotations"]?.[`f:${UNRESOLVED_ANNOTATION}`] !== undefined;
  return managedFields.find(wrote)?.time;
}
