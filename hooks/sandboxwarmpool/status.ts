/**
 * Computes the status of a pool from the observed objects, including the reason why the pool is not full.
 * Metacontroller adds observedGeneration. @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type {
  PoolProgressingReason,
  PoolReadyReason,
  SandboxWarmPoolStatus,
} from "../../packages/api/sandboxwarmpool.ts";
import { SANDBOX_CAUSES, sandboxCause, unscheduled } from "../../packages/api/diagnosis/sandboxcause.ts";
import { policyMessage } from "../../packages/api/templatepolicy.ts";
import { readUnresolved } from "../../packages/api/keeperreports.ts";
import { findCondition, stamp, type Verdict } from "../../packages/api/objects/conditions.ts";
import { WARM_POOL_LABEL } from "../../packages/api/objects/keys.ts";
import { tooLarge } from "../../packages/api/objects/size.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { batchesStatus, cautionOf } from "./batches.ts";
import { drainsOf, isOverdue } from "./drain.ts";
import { dueFault, POLICY_REASONS, policyVerdicts } from "./policy.ts";
import { isUnfenced, lostAt } from "./refill.ts";
import { numbersOf, type Place } from "./sequence.ts";
import type { WarmPoolConfig } from "../flags.ts";
import { isReady, ownedBy, type View } from "./view.ts";

/**
 * Computes the status. Counts of 0 are omitted. Source: Agent Sandbox API, sections 1.4 and 3.3.5.
 *
 * @param made the members that the same answer creates
 */
export function computeStatus(
  view: View,
  made: readonly Place[],
  config: WarmPoolConfig,
  now: Date,
): SandboxWarmPoolStatus {
  const { pool, members } = view;
  const { generation, name } = pool.metadata;
  const ready = members.filter(isReady).length;
  const owned = ownedBy(view);
  const lost = lostAt(view, config, now);
  const verdicts = [
    progressVerdict(view, config, now),
    readyVerdict(ready, pool.spec.replicas),
    ...policyVerdicts(view, config, now),
  ];
  return {
    ...(members.length > 0 ? { replicas: members.length } : {}),
    ...(ready > 0 ? { readyReplicas: ready } : {}),
    selector: `${WARM_POOL_LABEL}=${nameHash(name)}`,
    ...numbersOf(pool, owned, made),
    ...batchesStatus(pool, owned, made, now),
    ...(lost === undefined ? {} : { lostAt: lost }),
    conditions: verdicts.map((verdict) => stamp(verdict, pool.status?.conditions, generation, now)),
  };
}

function readyVerdict(ready: number, wanted: number): Verdict<"Ready", PoolReadyReason> {
  const message = `${ready} of ${wanted} sandboxes are Ready`;
  return ready >= wanted
    ? { type: "Ready", status: "True", reason: "Full", message }
    : { type: "Ready", status: "False", reason: "NotFull", message };
}

type Progressing = Verdict<"Progressing", PoolProgressingReason>;
type Cause = { reason: PoolProgressingReason; detail: string };

/** Causes in order of precedence: the pool reports the first that one of its members has. */
const CAUSES: PoolProgressingReason[] = [...SANDBOX_CAUSES, "NotReadyInTime"];

/**
 * Computes Progressing. The first row that applies decides.
 *
 * | if | verdict |
 * |---|---|
 * | the API server refuses to delete or mark a member | False ReconcilerError, with the API server's message |
 * | enough members are Ready | True Full |
 * | the template is missing | False TemplateNotFound |
 * | the template's NetworkPolicy is required but not in force, and its grace period is over | False, with what is wrong |
 * | a member cannot become Ready | False with its cause |
 * | a member waits for a node or a scheduling gate, within the grace period | True Unschedulable or SchedulingGated |
 * | the same after the grace period | False, with the message of the Agent Sandbox API |
 * | no member of the last batch was created | False ChildrenRefused |
 * | otherwise | True Filling |
 */
function progressVerdict(view: View, config: WarmPoolConfig, now: Date): Progressing {
  const { pool, template, members } = view;
  const wanted = pool.spec.replicas;
  const ready = members.filter(isReady).length;
  const stuck = readUnresolved(pool.metadata)?.problems.find(({ state }) => state === "stuck");
  if (stuck && isOutstanding(view, config, now)) {
    return verdict(
      "False",
      "ReconcilerError",
      `${ready} of ${wanted} sandboxes are Ready. Error seen: ${stuck.message}`,
    );
  }
  if (ready >= wanted) return verdict("True", "Full", `${ready} of ${wanted} sandboxes are Ready`);
  if (!template) return verdict("False", "TemplateNotFound", `SandboxTemplate "${templateOf(view)}" not found`);
  const fault = isUnfenced(view, config) ? dueFault(view, now) : undefined;
  if (fault) {
    const message = `${ready} of ${wanted} sandboxes are Ready. ${policyMessage(template, fault)}`;
    return verdict("False", POLICY_REASONS[fault.state], message);
  }
  const causes = members.filter((member) => !isReady(member)).flatMap((member) => causeOf(member, config, now) ?? []);
  const reason = CAUSES.find((candidate) => causes.some((cause) => cause.reason === candidate));
  const same = causes.filter((cause) => cause.reason === reason);
  if (!reason && cautionOf(pool, ownedBy(view), now).isRefused) {
    const why = tooLarge(`SandboxTemplate "${templateOf(view)}"`, template.spec) ?? WHO;
    return verdict("False", "ChildrenRefused", `${ready} of ${wanted} ${REFUSED} ${why}`);
  }
  if (!reason) return verdict("True", "Filling", `${ready} of ${wanted} sandboxes are Ready`);
  const message = `${ready} of ${wanted} sandboxes are Ready, ${same.length} failing: ${same[0]?.detail}`;
  if (reason !== "Unschedulable" && reason !== "SchedulingGated") return verdict("False", reason, message);
  return waitVerdict(view, config, reason, message, now);
}

/**
 * Tells whether the problem that the keeper has reported still matters. It does not if the deletion has succeeded since
 * then, or if the pool gives up no member now.
 */
function isOutstanding(view: View, config: WarmPoolConfig, now: Date): boolean {
  return view.draining.length > 0 || drainsOf(view, config, now).length > 0;
}

const REFUSED = "sandboxes are Ready. None of those asked for last has been created:";
const WHO =
  "a ResourceQuota or an admission policy of the namespace may refuse Sandboxes; one is tried at least every 30 s";

function waitVerdict(view: View, config: WarmPoolConfig, reason: PoolProgressingReason, message: string, now: Date) {
  const overdue = view.members.filter((member) => unscheduled(member) === reason && isOverdue(member, config, now));
  if (overdue.length === 0) return verdict("True", reason, message);
  const counts = `${overdue.length}/${view.pool.spec.replicas} sandboxes are unschedulable`;
  const grace = `past the ${duration(config.readinessGraceSeconds)} readiness grace period`;
  const consequence = "holding them instead of replacing (replacements would be equally unschedulable)";
  return verdict("False", reason, `${counts} ${grace}; ${consequence}`);
}

/**
 * Returns the cause that the member's conditions show. If they show none, the cause of an overdue member is that its
 * time is over.
 */
function causeOf(member: Sandbox, config: WarmPoolConfig, now: Date): Cause | undefined {
  const found = sandboxCause(member);
  if (found || !isOverdue(member, config, now)) return found;
  const ready = findCondition(member.status?.conditions, "Ready");
  return { reason: "NotReadyInTime", detail: ready?.message ?? "it has no status" };
}

function verdict(status: "True" | "False", reason: PoolProgressingReason, message: string): Progressing {
  return { type: "Progressing", status, reason, message };
}

/** Formats a duration as Go does: 5m0s, 1h0m0s. */
function duration(seconds: number): string {
  const hours = seconds >= 3600 ? `${Math.floor(seconds / 3600)}h` : "";
  const minutes = seconds >= 60 ? `${Math.floor((seconds % 3600) / 60)}m` : "";
  return `${hours}${minutes}${seconds % 60}s`;
}

function templateOf({ pool }: View): string {
  return pool.spec.sandboxTemplateRef.name;
}
