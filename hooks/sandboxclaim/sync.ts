/**
 * The SandboxClaim hook: reports the state of a bound claim's Sandbox, applies the claim's Pod metadata to it, and
 * deletes it after the expiry. It is a pure function. @module
 */
import { type Sandbox, sandboxSchema } from "../../packages/api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { boundSandbox } from "../../packages/api/claims/binding.ts";
import { refusedWriteProblem } from "../../packages/api/keeperreports.ts";
import { expiryTime, hasExpired, isExpired, isPublished } from "../../packages/api/expiry.ts";
import type { ClaimProblem } from "../../packages/api/claims/problem.ts";
import { outstandingMetadata } from "../../packages/api/claims/boundmetadata.ts";
import { metadataProblem } from "../../packages/api/claims/podmetadata.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { CLAIM_METADATA_ANNOTATION } from "../../packages/api/objects/keys.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import {
  childKey,
  type Decorated,
  listKind,
  type Observed,
  SHORTEST_WAIT_SECONDS,
  soonestResync,
} from "../../packages/webhook/metacontroller.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import { ANOTHER, EXPIRED } from "./deletionreasons.ts";
import type { ClaimConfig } from "../flags.ts";
import { computeStatus, reported } from "./status.ts";

/** Key of the Sandboxes among the attachments of a request. */
export const SANDBOXES = "Sandbox.agents.x-k8s.io/v1beta1";

/**
 * Decides the status and annotations of a claim, and what happens to its Sandboxes.
 *
 * | claim | answer |
 * |---|---|
 * | not bound, or being deleted | no change: the binder or the garbage collector is responsible |
 * | bound | the state of its Sandbox; other Sandboxes that the claim controls are deleted |
 * | expired, but its status does not report this yet for the current spec | the status reports it, and the Sandbox stays |
 * | expired, and its status reports it for the current spec | with Retain, the Sandbox is deleted; otherwise the keeper deletes the claim |
 *
 * @throws {RangeError} if the controller lacks the attachment rule
 */
export function syncSandboxClaim(
  observed: Observed<SandboxClaim>,
  now: Date,
  config: ClaimConfig,
): Decorated<SandboxClaimStatus> {
  const claim = observed.parent;
  const sandboxes = listKind(observed.children, SANDBOXES, sandboxSchema);
  const bound = boundSandbox(claim, sandboxes);
  if (!bound || claim.metadata.deletionTimestamp !== undefined) return { attachments: sandboxes.map(unchanged) };
  const extra = sandboxes.filter((sandbox) => sandbox !== bound);
  const deletions = Object.fromEntries(extra.map((sandbox) => [childKey(sandbox), ANOTHER]));
  const expiry = expiryTime(claim);
  if (hasExpired(claim, now.getTime()) && isPublished(claim, "ClaimExpired")) {
    const isRetained = claim.spec.lifecycle?.shutdownPolicy === "Retain";
    if (!isRetained) return { attachments: [unchanged(bound)], deletions };
    return { attachments: [], deletions: { ...deletions, [childKey(bound)]: EXPIRED }, ...cleanup(claim, bound, now) };
  }
  const { desired, problem: otherProblem, isMetadataOutstanding } = keepSandbox(claim, bound, config);
  // Another process has reported the expiry by a clock that is ahead: it also reports why the Sandbox stays.
  const isReported = isExpired(claim, now.getTime()) && isPublished(claim, "ClaimExpired");
  const problem = (isReported ? refusedWriteProblem(bound.metadata, "delete") : undefined) ?? otherProblem;
  const situation = {
    claim,
    sandbox: bound,
    isExpired: isExpired(claim, now.getTime()),
    problem,
    isMetadataOutstanding,
  };
  const answer = reported(situation, now);
  // After the expiry, only a status that reports it needs another call at once.
  const isPending = expiry !== undefined && (expiry > now.getTime() || answer.status !== undefined);
  const toExpiry = isPending ? Math.max((expiry - now.getTime()) / 1000, SHORTEST_WAIT_SECONDS) : undefined;
  const resyncAfterSeconds = soonestResync(answer.resyncAfterSeconds, toExpiry);
  return {
    ...answer,
    attachments: [desired],
    deletions,
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
  };
}

/** Reports in the status of an expired claim that its Sandbox cannot be deleted, if that is so. */
function cleanup(claim: SandboxClaim, sandbox: Sandbox, now: Date): { status?: SandboxClaimStatus } {
  const problem = refusedWriteProblem(sandbox.metadata, "delete");
  return problem ? { status: computeStatus({ claim, sandbox, isExpired: true, problem }, now) } : {};
}

/** The Sandbox in the answer, and the problem that keeps it from getting the claim's metadata. */
interface Attachment {
  desired: DesiredObject;
  problem?: ClaimProblem | undefined;
  /** Whether the Sandbox lacks Pod metadata that the claim asks for. @default {false} */
  isMetadataOutstanding?: boolean;
}

/**
 * Returns the claim's Sandbox for the answer. Only the Pod's labels and annotations that come from the claim are
 * updated. Everything else in the spec, such as mode, shutdown time and shutdown policy, belongs to users and other
 * controllers and stays.
 */
function keepSandbox(claim: SandboxClaim, sandbox: Sandbox, config: ClaimConfig): Attachment {
  const desired = unchanged(sandbox);
  const problem = metadataProblem(
    claim.spec.additionalPodMetadata,
    config.allowedLabelDomains,
    config.allowedAnnotationDomains,
  );
  if (problem) return { desired, problem };
  const update = outstandingMetadata(claim, sandbox);
  if (!update) return { desired };
  if ("problem" in update) return { desired, problem: update.problem };
  const spec = (desired.spec ?? {}) as Partial<Sandbox["spec"]>;
  return {
    desired: {
      ...desired,
      metadata: {
        ...desired.metadata,
        annotations: { ...desired.metadata.annotations, [CLAIM_METADATA_ANNOTATION]: update.record },
      },
      spec: { ...spec, podTemplate: { ...spec.podTemplate, metadata: update.metadata } },
    },
    problem: refusedWriteProblem(sandbox.metadata, "update"),
    isMetadataOutstanding: !sameJson(update.metadata, sandbox.spec.podTemplate.metadata ?? {}),
  };
}
