/**
 * Writes to a claim that is not bound: its annotations, and a status that binds it or reports why it has no Sandbox.
 * @module
 */
import type { ClaimProblem } from "../api/claims/problem.ts";
import { RESIZED_CONDITION, resizedVerdict } from "../api/claims/resources.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema, type SandboxClaimStatus } from "../api/sandboxclaim.ts";
import { computeStatus, missingAnnotations } from "../../hooks/sandboxclaim/status.ts";
import { isExpired } from "../api/expiry.ts";
import { stamp } from "../api/objects/conditions.ts";
import { sameJson } from "../api/objects/apply.ts";
import { FIRST_OBSERVED_ANNOTATION } from "../api/objects/keys.ts";
import { errorFields } from "../process/log.ts";
import { inSpan, logFields } from "./spans.ts";
import { standingOf } from "./standing.ts";
import { assumeWritten, type Binder, getClaim, type QueuedClaim, serverNow } from "./state.ts";
import { findObject, findRaw } from "../kube/requests.ts";
import { sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { policyName, policyToKeep } from "../api/templatepolicy.ts";
import { candidatesOf, choose, policyProblem } from "./filter.ts";
import { annotateClaim, findOwn, putStatus, searchOwn } from "./writes.ts";

/** The API server accepts the annotations and does not return them: a mutating admission policy or webhook removes them. */
const NOT_STORED = "The API server did not store the annotations of the claim";

/**
 * What to report about a claim.
 *
 * | report | what is written |
 * |---|---|
 * | `assigned` | a status that binds the claim to a Sandbox that it controls; without `sandbox`, the Sandbox is fetched first |
 * | `expired` | a status that reports that the claim has expired |
 * | `lost` | a status that reports how the Sandbox ended that the claim named, or that it does not exist |
 * | `unannotated` | only the annotation that the claim lacks; no status |
 * | `undelivered` | a status that reports why the Sandbox has not got the variables of the claim; it names no Sandbox |
 * | `wanting` | a status that reports why the claim is not served; `isCertain`: the API server has just confirmed it |
 */
export type Report =
  | { is: "assigned"; name: string; sandbox: Sandbox | undefined }
  | { is: "expired" | "lost" | "unannotated" }
  | { is: "undelivered"; problem: ClaimProblem }
  | { is: "wanting"; problem: ClaimProblem; isCertain: boolean };

/**
 * Writes a report, unless the claim has changed so that the report no longer applies, or the status already has it.
 *
 * @returns whether anything was written
 * @throws {Error} if the API server refuses a write or cannot be reached
 */
export async function writeReport(binder: Binder, entry: QueuedClaim, report: Report): Promise<boolean> {
  const { api, clock, index, log } = binder;
  // From here on, the entry's claim may be replaced by a projection at any moment, which lacks the trace context.
  const { claim: traced } = entry;
  if (report.is === "unannotated") {
    const bound = index.controlled(entry).find(traced.status?.sandbox?.name);
    const assigned = Date.parse(bound?.assignedAt ?? "");
    const noted = await annotateClaim(api, traced, {
      [FIRST_OBSERVED_ANNOTATION]: new Date(assigned <= entry.seenAt ? assigned : entry.seenAt).toISOString(),
    });
    if (noted) assumeWritten(binder, entry, noted);
    return noted !== undefined;
  }
  const sandbox = report.is === "assigned" ? report.sandbox ?? await findOwn(api, traced, report.name) : undefined;
  if (report.is === "assigned" && !sandbox) return false;
  await entry.annotating;
  const observed = entry.raw ?? await getClaim(api, traced);
  if (!observed) return false;
  const now = new Date(clock.now());
  // Bound, the claim must have its annotations before it is Ready. A report that it has no Sandbox does not depend on them.
  const needsAnnotations = report.is === "assigned";
  const compute = (claim: SandboxClaim) => {
    const { metadata, status } = claim;
    const isSame = (status?.sandbox?.name || undefined) === (observed.status?.sandbox?.name || undefined) &&
      (report.is !== "wanting" || metadata.generation === observed.metadata.generation);
    // If the claim has changed in another way, the watch shows the change, and the claim is reconciled again.
    return isSame ? statusFor(binder, entry, claim, { ...report, sandbox }, now) : undefined;
  };
  if (!compute(observed)) return false;
  return await inSpan(binder, traced, "hookbox.write_claim_status", async () => {
    const missing = (latest: SandboxClaim) => missingAnnotations(latest, sandbox, now, entry.seenAt);
    const annotations = missing(observed);
    const claim = annotations
      ? await annotateClaim(api, observed, annotations).catch((error) => {
        if (needsAnnotations) throw error;
        log("warn", "Cannot annotate a claim", { ...logFields(traced), ...errorFields(error) });
        return observed;
      })
      : observed;
    if (needsAnnotations && claim && missing(claim)) {
      throw new Error(`${NOT_STORED}: ${Object.keys(missing(claim) ?? {})}`);
    }
    const written = claim && await putStatus(api, claim, async (latest) => {
      const status = needsAnnotations && missing(latest) ? undefined : compute(latest);
      // The last request before the write: what is reported as missing may have been created during the others.
      return status && await isSure(binder, entry, latest, report) ? status : undefined;
    }, (latest) => {
      // The claim has changed, so its standing may have.
      if (latest.metadata.resourceVersion !== claim.metadata.resourceVersion) entry.isOverdue = true;
      assumeWritten(binder, entry, latest);
    });
    if (written && !assumeWritten(binder, entry, written)) entry.isOverdue = true;
    return written !== undefined;
  });
}

/** Confirms a report of a failure with the API server: a watch may lag, and clients abandon a claim that reports a failure. */
async function isSure(binder: Binder, entry: QueuedClaim, observed: SandboxClaim, report: Report): Promise<boolean> {
  const named = observed.status?.sandbox?.name;
  if (report.is === "lost") return named === undefined || !await findOwn(binder.api, observed, named);
  if (report.is !== "wanting" || report.isCertain) return true;
  const claim = sandboxClaimSchema.safeParse(observed).data;
  return claim !== undefined && await isStillRefused(binder, entry, claim, report.problem);
}

/**
 * Returns whether the claim still cannot be served, for this reason, according to the current pool, template and
 * NetworkPolicy in the API server. Returns false as well if the claim has a Sandbox that the watch has not shown yet.
 *
 * @throws {Error} if the API server does not answer
 */
async function isStillRefused(
  binder: Binder,
  { namespace, refused, notResized }: QueuedClaim,
  claim: SandboxClaim,
  problem: ClaimProblem,
): Promise<boolean> {
  const { api, index, clock, allowedLabelDomains, allowedAnnotationDomains, templateNetworkPolicy } = binder;
  if (!index.freshness.isFresh()) {
    const { own, version } = await searchOwn(api, claim);
    index.freshness.asked(version);
    if (own) return false;
  }
  const { name } = claim.spec.warmPoolRef;
  const pool = await findObject(api, { resource: "sandboxwarmpools", namespace, name }, sandboxWarmPoolSchema);
  const of = pool?.spec.sandboxTemplateRef.name;
  const template = of === undefined
    ? undefined
    : await findObject(api, { resource: "sandboxtemplates", namespace, name: of }, sandboxTemplateSchema);
  const isPolicyAsked = template !== undefined && templateNetworkPolicy === "required";
  const policy = isPolicyAsked
    ? policyToKeep(
      await findRaw(api, { resource: "networkpolicies", namespace, name: policyName(template.metadata.name) }),
    )
    : undefined;
  const fault = policyProblem(policy, templateNetworkPolicy, template);
  const now = clock.now();
  const { members } = index.snapshot(namespace, name);
  const candidates = { ...candidatesOf(pool, template, members, now, fault), refused, notResized };
  const choice = choose(claim, candidates, allowedLabelDomains, now, allowedAnnotationDomains);
  return choice.kind === "refused" && sameJson(choice.problem, problem);
}

/** Returns the status to write; undefined if the report does not apply to this claim, or the claim's status already has it. */
function statusFor(
  binder: Binder,
  entry: QueuedClaim,
  claim: SandboxClaim,
  report: Report & { sandbox: Sandbox | undefined },
  now: Date,
): SandboxClaimStatus | undefined {
  const { index } = binder;
  const controlled = index.controlled(entry);
  const stands = standingOf(claim, controlled, serverNow(binder));
  const isOther = stands.is === "assigned" && stands.assigned.name !== report.sandbox?.metadata.name;
  const is = report.is === "undelivered" ? "assigned" : report.is;
  if (stands.is !== is || (isOther && is === report.is)) return undefined;
  const ended = entry.ended?.metadata.name === claim.status?.sandbox?.name ? entry.ended : undefined;
  const computed = computeStatus({
    claim,
    sandbox: report.is === "lost" && !controlled.earliest() ? ended : report.sandbox,
    isExpired: report.is === "expired" || isExpired(claim, serverNow(binder)),
    problem: report.is === "wanting" || report.is === "undelivered" ? report.problem : undefined,
  }, now);
  const status = withResized(computed, claim, report.is === "assigned" ? report.sandbox : undefined, now);
  return sameJson(status, claim.status) ? undefined : status;
}

/** Reports how the Sandbox that a claim is bound to got its resources. The claim's hook keeps that condition. */
function withResized(
  status: SandboxClaimStatus,
  claim: SandboxClaim,
  sandbox: Sandbox | undefined,
  now: Date,
): SandboxClaimStatus {
  const others = (status.conditions ?? []).filter(({ type }) => type !== RESIZED_CONDITION);
  const verdict = sandbox && resizedVerdict(sandbox);
  if (!verdict) return others.length === status.conditions?.length ? status : { ...status, conditions: others };
  return {
    ...status,
    conditions: [...others, stamp(verdict, claim.status?.conditions, claim.metadata.generation, now)],
  };
}
