/** Says on claims what is wrong that no hook can see, and takes it back. Nothing is written of what has not lasted. @module */
import { type ClaimProblem, problemText } from "../api/claimproblem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { policyFault, policyMessage, policyName, type TemplatePolicy } from "../api/templatepolicy.ts";
import { needsColdStart } from "../api/claims/request.ts";
import { NOT_SERVED, policyNotInForce } from "../api/claims/unserved.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import type { EventHandler } from "../kube/watch.ts";
import { sameJson } from "../api/objects/apply.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { CLAIM_UID_LABEL, UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { kubeObjectSchema } from "../api/objects/objects.ts";
import {
  claimProblem,
  type ClaimSituation,
  claimSituation,
  isUnbound,
  type Known,
  type Referred,
} from "./claimsituation.ts";
import { type Intervals, lookReconciler, type Outcome } from "./look.ts";
import type { Reconciler, Report } from "./reconciler.ts";
import type { RefusedWrites } from "./refusedwrites.ts";
import { stuckSandbox } from "./stucksandbox.ts";
import { createWaiting, policyGroup, type References, templateGroup } from "./references.ts";
import { findObject, isAnyLabelled } from "../kube/find.ts";
import type { WorkQueue } from "./workqueue.ts";

interface ClaimProblemReconcilerOptions {
  api: Api;
  report: Report;
  references: References;
  /** What the API server refused to do to the Sandboxes of claims. */
  refusedWrites?: Pick<RefusedWrites, "of">;
  /** Domains of label keys that claims may use. */
  domains: readonly string[];
  /** Whether sandboxes start without the NetworkPolicy of their template; each process passes the value of its flag. @default {"optional"} */
  templatePolicy?: TemplatePolicy | undefined;
  annotationDomains?: readonly string[] | undefined;
  /** @default {systemClock} */
  clock?: Clock | undefined;
}

/** `kubectl apply -f folder` brings objects in any order: what is gone within this was never wrong. In milliseconds. */
const CLAIM_INTERVALS: Intervals = { settle: 1500, problem: 30_000, calm: 30_000 };

/** Makes the reconciler. A claim whose pool and template are there costs no request. */
export function claimProblemReconciler(options: ClaimProblemReconcilerOptions): Reconciler<SandboxClaim> {
  const verdicts: Verdicts = new WeakMap();
  return lookReconciler({
    name: "claim problems",
    intervals: CLAIM_INTERVALS,
    clock: options.clock,
    situationOf: (claim: SandboxClaim, now) => {
      const refusal = options.refusedWrites?.of(claim.metadata, now);
      return claimSituation(claim, (unbound) => knownProblem(unbound, options, verdicts), refusal);
    },
    async look(claim, situation) {
      const { refusal } = situation;
      if (refusal !== undefined) return await checkRefusal(claim, refusal, options);
      const decided = situation.isOpen ? await decidedByAsking(claim, options) : situation;
      if (!decided) return "nothing";
      const { problem, notBefore = 0 } = decided;
      if (situation.isOpen && notBefore > (options.clock ?? systemClock).now()) return "coming";
      const isCertain = problem === undefined || await isStillSo(claim, problem, options);
      return isCertain && await publish(claim, problem, options) ? "nothing" : "problem";
    },
  });
}

/** Returns the event handler of the reconciler's queue that sees claims again when what they refer to changes. */
export function withReferences(
  queue: WorkQueue<SandboxClaim>,
  { pools, templates, policies }: References,
): EventHandler<SandboxClaim> {
  const keyOf = (namespace: string | undefined, pool: string) => `${namespace}/${pool}`;
  const again = (template: { namespace: string; name: string }) => {
    const of = pools.members(templateGroup(template.namespace, template.name));
    for (const pool of of) waiting.again(keyOf(pool.namespace, pool.name));
  };
  const waiting = createWaiting(queue, (claim: SandboxClaim) => {
    return isUnbound(claim) ? keyOf(claim.metadata.namespace, claim.spec.warmPoolRef.name) : undefined;
  });
  pools.onChange((pool) => waiting.again(pool && keyOf(pool.namespace, pool.name)));
  templates.onChange((template) => template ? again(template) : waiting.again());
  policies.onChange((policy) => {
    if (!policy) return waiting.again();
    for (const template of templates.members(policyGroup(policy.namespace, policy.name))) again(template);
  });
  return waiting;
}

/** By template and claim: a look asks for them several times, and a claim may have 50,000 labels. */
type Verdicts = WeakMap<SandboxTemplate, WeakMap<SandboxClaim, { found: Known; policyProblem: string | undefined }>>;

function knownProblem(
  claim: SandboxClaim,
  options: ClaimProblemReconcilerOptions,
  verdicts: Verdicts,
): Known {
  const { references: { pools, templates, policies }, templatePolicy = "optional" } = options;
  if (!pools.isComplete() || !templates.isComplete() || !policies.isComplete()) return "unknown";
  const { namespace } = claim.metadata;
  const pool = pools.find(namespace, claim.spec.warmPoolRef.name);
  const facts = pool && templates.find(namespace, pool.template);
  if (!facts) return claimProblem(claim, { pool, template: undefined }, options);
  const { template, managed } = facts;
  const fault = templatePolicy === "required"
    ? policyFault(managed, policies.find(namespace, policyName(facts.name))?.policy)
    : undefined;
  const policyProblem = fault && (facts.policyProblem ?? fault.message);
  if (template) {
    const ofTemplate: NonNullable<ReturnType<Verdicts["get"]>> = verdicts.get(template) ?? new WeakMap();
    const before = ofTemplate.get(claim);
    if (before && before.policyProblem === policyProblem) return before.found;
    const found = claimProblem(claim, { pool, template, policyProblem }, options);
    verdicts.set(template, ofTemplate.set(claim, { found, policyProblem }));
    return found;
  }
  const asksForMore = needsColdStart(claim) || claim.spec.additionalPodMetadata !== undefined;
  if (asksForMore) return { large: `${facts.uid} ${facts.version} ${policyProblem}` };
  return policyProblem === undefined ? undefined : policyNotInForce(facts.name, policyProblem);
}

/** Reports that the claim's Sandbox cannot be changed for as long as that is so. */
async function checkRefusal(
  claim: SandboxClaim,
  refusal: string,
  options: ClaimProblemReconcilerOptions,
): Promise<Outcome> {
  const problem = await stuckSandbox(options.api, claim, refusal, options);
  const before = claim.metadata.annotations?.[UNRESOLVED_ANNOTATION];
  const isSaid = before === (problem && problemText(claim, problem));
  const isPublished = isSaid || await publish(claim, problem, options);
  return problem || !isPublished ? "problem" : "coming";
}

async function decidedByAsking(
  claim: SandboxClaim,
  options: ClaimProblemReconcilerOptions,
): Promise<ClaimSituation | undefined> {
  const problem = claimProblem(claim, await referredBy(claim, options), options);
  return claimSituation(claim, () => problem);
}

/** Asks the API server itself: a watch may lag, and clients give up for good on a claim that they see fail. */
async function isStillSo(
  claim: SandboxClaim,
  problem: ClaimProblem,
  options: ClaimProblemReconcilerOptions,
): Promise<boolean> {
  const { api } = options;
  const referred = await referredBy(claim, options);
  const found = claimProblem(claim, referred, options);
  if (!sameJson(found === "its hook's" ? undefined : found ?? NOT_SERVED, problem)) return false;
  const { uid, namespace } = claim.metadata;
  // The claim may have a Sandbox that its status does not show yet.
  if (await isAnyLabelled(api, { resource: "sandboxes", namespace }, `${CLAIM_UID_LABEL}=${uid}`)) return false;
  if (referred.template) return true;
  const home = await findObject(api, { resource: "namespaces", name: namespace ?? "" }, kubeObjectSchema);
  return home !== undefined && home.metadata.deletionTimestamp === undefined;
}

async function referredBy(
  { metadata, spec }: SandboxClaim,
  { api, templatePolicy = "optional" }: ClaimProblemReconcilerOptions,
): Promise<Referred> {
  const { namespace } = metadata;
  const { name } = spec.warmPoolRef;
  const pool = await findObject(api, { resource: "sandboxwarmpools", namespace, name }, sandboxWarmPoolSchema);
  if (!pool) return { pool, template: undefined };
  const of = pool.spec.sandboxTemplateRef.name;
  const template = await findObject(api, { resource: "sandboxtemplates", namespace, name: of }, sandboxTemplateSchema);
  const isRequired = template && templatePolicy === "required";
  const policyProblem = isRequired ? await policyProblemFor(template, api) : undefined;
  return { pool: { template: of }, template, policyProblem };
}

async function policyProblemFor(template: SandboxTemplate, api: Api): Promise<string | undefined> {
  const { namespace } = template.metadata;
  const name = policyName(template.metadata.name);
  const policy = await findObject(api, { resource: "networkpolicies", namespace, name }, kubeObjectSchema);
  const fault = policyFault(template, policy);
  return fault && policyMessage(template, fault);
}

/** Writes the annotation, or removes it. @returns false if the claim has changed or gone meanwhile: look again */
async function publish(
  claim: SandboxClaim,
  problem: ClaimProblem | undefined,
  { api, report }: ClaimProblemReconcilerOptions,
): Promise<boolean> {
  const { metadata } = claim;
  const text = problem ? problemText(claim, problem) : null;
  const body = patchOf(metadata, { annotations: { [UNRESOLVED_ANNOTATION]: text } });
  if (!await sendPatch(api, { kind: "SandboxClaim", resource: "sandboxclaims", metadata }, body)) return false;
  if (problem) report("annotated", metadata, { ...problem });
  else report("annotation removed", metadata, {});
  return true;
}
