/**
 * Prepares a request for the SandboxWarmPool hook: sorts the Sandboxes by role, and tells the state of each member.
 * @module
 */
import { type Sandbox, sandboxSchema } from "../../packages/api/sandbox.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { CLAIM_UID_LABEL, DRAINING_LABEL } from "../../packages/api/objects/keys.ts";
import { type PolicyFault, policyFault, policyName } from "../../packages/api/templatepolicy.ts";
import { listKind, type ObjectMap, type Observed } from "../../packages/webhook/metacontroller.ts";
import { readApplied } from "./applied.ts";
import { forClaim } from "./sandbox.ts";

/** The observed objects of one pool. Every Sandbox that the pool owns is in exactly one of the lists. */
export interface View {
  pool: SandboxWarmPool;
  /** Undefined: the template does not exist. */
  template: SandboxTemplate | undefined;
  /** What is wrong with the template's NetworkPolicy; undefined: nothing, or Metacontroller has not sent the policy. */
  policyFault: PolicyFault | undefined;
  /** Sandboxes that a claim can get, oldest first. */
  members: Sandbox[];
  /**
   * Sandboxes that belonged to a claim, or were created for one, and are now without a claim. They are never used
   * again.
   */
  returned: Sandbox[];
  /**
   * Sandboxes to delete now: those that are marked as draining, and those that cannot be marked because their
   * last-applied annotation is broken, so that Metacontroller cannot merge anything.
   */
  draining: Sandbox[];
  /** Sandboxes that are being deleted. */
  terminating: Sandbox[];
}

/**
 * Returns all Sandboxes that have a number of the pool and still exist, including those that are marked or being
 * deleted.
 */
export function ownedBy({ members, draining, terminating }: View): Sandbox[] {
  return [...members, ...draining, ...terminating];
}

const SANDBOXES = "Sandbox.agents.x-k8s.io/v1beta1";
const TEMPLATES = "SandboxTemplate.extensions.agents.x-k8s.io/v1beta1";
const POLICIES = "NetworkPolicy.networking.k8s.io/v1";

/**
 * Sorts the objects of the request by role. @throws {RangeError} if the controller lacks its child rule, or the hook's
 * customize answer
 */
export function viewOf({ parent: pool, children, related }: Observed<SandboxWarmPool>): View {
  const roles = Map.groupBy(listKind(children, SANDBOXES, sandboxSchema), roleOf);
  const of = (role: Role) => (roles.get(role) ?? []).sort(byAge);
  const templates = listKind(related, TEMPLATES, sandboxTemplateSchema);
  const template = templates.find(({ metadata }) => metadata.name === pool.spec.sandboxTemplateRef.name);
  return {
    pool,
    template,
    policyFault: template && policyFaultOf(template, related),
    members: of("member"),
    returned: of("returned"),
    draining: of("draining"),
    terminating: of("terminating"),
  };
}

/**
 * Metacontroller asks a pool's customize hook only every 20 minutes. Just after an update of the hook it therefore does not
 * show the policy yet. The pool must not stop because of that.
 */
function policyFaultOf(template: SandboxTemplate, related: ObjectMap): PolicyFault | undefined {
  const policies = related[POLICIES];
  const { namespace = "", name } = template.metadata;
  return policies && policyFault(template, policies[`${namespace}/${policyName(name)}`]);
}

type Role = "member" | "returned" | "draining" | "terminating";

function roleOf(sandbox: Sandbox): Role {
  const { deletionTimestamp, labels = {} } = sandbox.metadata;
  if (deletionTimestamp !== undefined) return "terminating";
  if (labels[DRAINING_LABEL] !== undefined || readApplied(sandbox) === "broken") return "draining";
  return labels[CLAIM_UID_LABEL] === undefined && forClaim(sandbox) === undefined ? "member" : "returned";
}

function byAge(a: Sandbox, b: Sandbox): number {
  const [older, younger] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`);
  return (older ?? "") < (younger ?? "") ? -1 : 1;
}

/**
 * The state of a member.
 *
 * | state | meaning |
 * |---|---|
 * | `ready` | Ready, and has an address |
 * | `starting` | its Pod runs and has an address, but is not Ready yet |
 * | `coming` | nothing is wrong, but there is no address yet |
 * | `lost` | finished, suspended, expired or broken: no claim gets it |
 */
export type MemberState = "ready" | "starting" | "coming" | "lost";

/** Returns the state of a member according to its spec and status. */
export function memberState({ spec, status }: Sandbox): MemberState {
  const ready = findCondition(status?.conditions, "Ready");
  if (spec.operatingMode === "Suspended" || spec.shutdownTime !== undefined) return "lost";
  if (findCondition(status?.conditions, "Finished")?.status === "True") return "lost";
  const hasAddress = (status?.podIPs ?? []).length > 0;
  if (ready?.status === "True") return hasAddress ? "ready" : "coming";
  if (ready !== undefined && ready.reason !== "DependenciesNotReady") return "lost";
  return hasAddress ? "starting" : "coming";
}

export function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}
