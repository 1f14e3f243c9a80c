/** What the SandboxWarmPool hook makes of a request before it decides anything: Sandboxes by role, claims in line. @module */
import { type Sandbox, sandboxSchema } from "../../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { findCondition } from "../../lib/conditions.ts";
import { CLAIM_BOUND_LABEL, CLAIM_UID_LABEL, DRAINING_LABEL } from "../../lib/keys.ts";
import { listKind, type Observed } from "../../lib/metacontroller.ts";
import { forClaim } from "./sandbox.ts";

/** The observed world of one pool. Every Sandbox that it owns is in exactly one of the lists of Sandboxes. */
export interface View {
  pool: SandboxWarmPool;
  /** Undefined if there is none. */
  template: SandboxTemplate | undefined;
  /** Claims that wait for a Sandbox of this pool, oldest first. */
  claims: SandboxClaim[];
  /** What the next claim can have, oldest first. */
  members: Sandbox[];
  /** Made for one claim, not handed over yet. */
  cold: Sandbox[];
  /** Were a claim's and have come back; never used again. */
  returned: Sandbox[];
  /** Marked: to be deleted now. */
  draining: Sandbox[];
  /** Being deleted. */
  terminating: Sandbox[];
}

const SANDBOXES = "Sandbox.agents.x-k8s.io/v1beta1";
const TEMPLATES = "SandboxTemplate.extensions.agents.x-k8s.io/v1beta1";
const CLAIMS = "SandboxClaim.extensions.agents.x-k8s.io/v1beta1";

/** Sorts the request. @throws {RangeError} if the controller lacks its child rule, or the hook's customize answer */
export function viewOf({ parent: pool, children, related }: Observed<SandboxWarmPool>, now: Date): View {
  const roles = Map.groupBy(listKind(children, SANDBOXES, sandboxSchema), roleOf);
  const of = (role: Role) => (roles.get(role) ?? []).sort(byAge);
  const templates = listKind(related, TEMPLATES, sandboxTemplateSchema);
  return {
    pool,
    template: templates.find(({ metadata }) => metadata.name === pool.spec.sandboxTemplateRef.name),
    claims: listKind(related, CLAIMS, sandboxClaimSchema).filter((claim) => isWaiting(claim, pool, now)).sort(byAge),
    members: of("member"),
    cold: of("cold"),
    returned: of("returned"),
    draining: of("draining"),
    terminating: of("terminating"),
  };
}

type Role = "member" | "cold" | "returned" | "draining" | "terminating";

function roleOf(sandbox: Sandbox): Role {
  const { deletionTimestamp, labels = {} } = sandbox.metadata;
  if (deletionTimestamp !== undefined) return "terminating";
  if (labels[DRAINING_LABEL] !== undefined) return "draining";
  if (labels[CLAIM_UID_LABEL] !== undefined) return "returned";
  return forClaim(sandbox) === undefined ? "member" : "cold";
}

/** A claim that shows a Sandbox has one, whoever gave it; one that has expired wants none. */
function isWaiting({ metadata, spec, status }: SandboxClaim, pool: SandboxWarmPool, now: Date): boolean {
  return spec.warmPoolRef.name === pool.metadata.name &&
    metadata.namespace === pool.metadata.namespace &&
    metadata.deletionTimestamp === undefined &&
    metadata.labels?.[CLAIM_BOUND_LABEL] === undefined &&
    !status?.sandbox?.name &&
    !(Date.parse(spec.lifecycle?.shutdownTime ?? "") <= now.getTime()) &&
    findCondition(status?.conditions, "Ready")?.reason !== "ClaimExpired";
}

function byAge(a: Sandbox | SandboxClaim, b: Sandbox | SandboxClaim): number {
  const [older, younger] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`);
  return (older ?? "") < (younger ?? "") ? -1 : 1;
}
