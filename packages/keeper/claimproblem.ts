/** Says on claims what keeps them from being served that no hook can see, and takes it back. Nothing is written of what has not lasted. @module */
import { type ClaimProblem, problemText, readClaimProblem } from "../api/claimproblem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { metadataProblem } from "../api/claims/podmetadata.ts";
import { requestProblem } from "../api/claims/request.ts";
import { isBindersProblem, LATE_MS, NOT_SERVED, poolNotFound, templateNotFound } from "../api/claims/unserved.ts";
import { answerError, type Api, isOk, pathOf } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import type { EventHandler } from "../kube/watch.ts";
import { sameJson } from "../api/objects/apply.ts";
import type { Clock } from "../process/clock.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { CLAIM_UID_LABEL, UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { kubeObjectSchema } from "../api/objects/objects.ts";
import { type Intervals, lookReconciler, type Situation } from "./look.ts";
import type { Reconciler, Report } from "./reconciler.ts";
import { createWaiting, type References } from "./references.ts";
import { findObject } from "./unresolved.ts";

/** What a claim refers to: its pool, and the template of that; undefined: does not exist. */
export interface Referred {
  pool: { template: string } | undefined;
  template: SandboxTemplate | undefined;
}

/** Tells whether a claim still waits for a Sandbox. */
export function isUnbound({ metadata, status }: SandboxClaim): boolean {
  return !status?.sandbox?.name && metadata.deletionTimestamp === undefined;
}

/**
 * Tells what keeps an unbound claim from being served; undefined: nothing that a hook would not see.
 *
 * Bad metadata is the claim hook's own to say, which needs no template for it.
 *
 * @param domains of label keys that claims may use
 */
export function claimProblem(
  claim: SandboxClaim,
  { pool, template }: Referred,
  domains: readonly string[],
): ClaimProblem | undefined {
  if (!pool) return poolNotFound(claim.spec.warmPoolRef.name);
  if (!template) return templateNotFound(pool.template);
  const problem = requestProblem(claim, template, domains);
  return problem?.reason === "InvalidMetadata" ? undefined : problem;
}

/** What is to be done about the annotation: say the problem once it has lasted, or take it back at once. */
type ClaimSituation = Situation & { problem?: ClaimProblem };

/**
 * Decides about the annotation of a claim; undefined: nothing is to be done.
 *
 * | claim | problem | annotation | what comes of it |
 * |---|---|---|---|
 * | being deleted | | any | none |
 * | bound | | there | goes |
 * | unbound | not known yet | any | none |
 * | unbound | its hook's to say | there | goes |
 * | unbound | none | is the binder's: its Sandbox is refused | none |
 * | unbound | none, and it is older than ten seconds | says so | none |
 * | unbound | none | there | goes |
 * | unbound | none | none | comes at ten seconds: nobody serves the claim |
 * | unbound | some | says it, of this generation | none |
 * | unbound | some | says another, or of another generation | goes |
 * | unbound | some | none | comes, once that has lasted |
 *
 * @param problemOf is asked for unbound claims only; `unknown`: not everything has been listed; `its hook's`: there is
 * one that the hook says by itself, and nobody else is to say another
 */
export function claimSituation(
  claim: SandboxClaim,
  problemOf: (claim: SandboxClaim) => ClaimProblem | undefined | "unknown" | "its hook's",
): ClaimSituation | undefined {
  const { metadata } = claim;
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  const goes: ClaimSituation | undefined = isAnnotated
    ? { key: `leftover ${metadata.resourceVersion}`, kind: "leftover" }
    : undefined;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  if (!isUnbound(claim)) return goes;
  const found = problemOf(claim);
  if (found === "unknown") return undefined;
  if (found === "its hook's") return goes;
  if (!found && isBindersProblem(readClaimProblem(metadata))) return undefined;
  const problem = found ?? (saysWhy(claim) ? undefined : NOT_SERVED);
  if (!problem) return goes;
  if (isAnnotated) return sameJson(readClaimProblem(metadata), problem) ? undefined : goes;
  const notBefore = problem === NOT_SERVED ? { notBefore: waitsSince(claim) + LATE_MS } : {};
  return { key: problemText(claim, problem), kind: "look", problem, ...notBefore };
}

/** Tells whether the claim's own status says what is in the way: bad metadata, its expiry. */
function saysWhy({ status }: SandboxClaim): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  return ready !== undefined && ready.reason !== "SandboxMissing";
}

/** Since when a claim waits, in milliseconds since the epoch: from its creation, or from when it lost the Sandbox it had. */
function waitsSince({ metadata, status }: SandboxClaim): number {
  const lost = Date.parse(findCondition(status?.conditions, "Ready")?.lastTransitionTime ?? "");
  return Math.max(Date.parse(metadata.creationTimestamp ?? "") || 0, lost || 0);
}

interface ClaimProblemReconcilerOptions {
  api: Api;
  report: Report;
  references: References;
  /** Domains of label keys that claims may use. */
  domains: readonly string[];
  /** @default {systemClock} */
  clock?: Clock | undefined;
}

/** `kubectl apply -f folder` brings objects in any order: what is gone within this was never wrong. In milliseconds. */
const CLAIM_INTERVALS: Intervals = { settle: 1500, problem: 30_000, calm: 30_000 };

/** Makes the reconciler. A claim whose pool and template are there costs no request. */
export function claimProblemReconciler(options: ClaimProblemReconcilerOptions): Reconciler<SandboxClaim> {
  return lookReconciler({
    name: "claim problems",
    intervals: CLAIM_INTERVALS,
    clock: options.clock,
    situationOf: (claim: SandboxClaim) => claimSituation(claim, (unbound) => knownProblem(unbound, options)),
    async look(claim, { problem }) {
      const isCertain = problem === undefined || await isStillSo(claim, problem, options);
      return isCertain && await publish(claim, problem, options) ? "nothing" : "problem";
    },
  });
}

/** Returns the event handler of the reconciler's queue that sees claims again when what they refer to changes. */
export function withReferences(
  queue: EventHandler<SandboxClaim>,
  { pools, templates }: References,
): EventHandler<SandboxClaim> {
  const keyOf = (namespace: string | undefined, pool: string) => `${namespace}/${pool}`;
  const waiting = createWaiting(queue, (claim: SandboxClaim) => {
    return isUnbound(claim) ? keyOf(claim.metadata.namespace, claim.spec.warmPoolRef.name) : undefined;
  });
  pools.onChange((pool) => waiting.again(pool && keyOf(pool.namespace, pool.name)));
  templates.onChange((template) => {
    if (!template) return waiting.again();
    const isOf = (pool: { namespace: string; template: string }) =>
      pool.namespace === template.namespace && pool.template === template.name;
    for (const pool of pools.all()) if (isOf(pool)) waiting.again(keyOf(pool.namespace, pool.name));
  });
  return waiting;
}

function knownProblem(
  claim: SandboxClaim,
  { references: { pools, templates }, domains }: ClaimProblemReconcilerOptions,
) {
  if (!pools.isComplete() || !templates.isComplete()) return "unknown";
  const { namespace } = claim.metadata;
  const pool = pools.find(namespace, claim.spec.warmPoolRef.name);
  const template = pool && templates.find(namespace, pool.template)?.template;
  const problem = claimProblem(claim, { pool, template }, domains);
  return problem ?? (metadataProblem(claim.spec.additionalPodMetadata, domains) ? "its hook's" : undefined);
}

/** Asks the API server itself: a watch may lag, and clients give up for good on a claim that they see fail. */
async function isStillSo(
  claim: SandboxClaim,
  problem: ClaimProblem,
  { api, domains }: ClaimProblemReconcilerOptions,
): Promise<boolean> {
  const referred = await referredBy(claim, api);
  if (!sameJson(claimProblem(claim, referred, domains) ?? NOT_SERVED, problem)) return false;
  if (await hasSandbox(claim, api)) return false;
  if (referred.template) return true;
  const name = claim.metadata.namespace ?? "";
  const namespace = await findObject(api, { resource: "namespaces", name }, kubeObjectSchema);
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

/** Tells whether the claim has been given a Sandbox, which its status may not show yet. @throws {Error} if the API server refuses */
async function hasSandbox({ metadata }: SandboxClaim, api: Api): Promise<boolean> {
  const path = pathOf({ resource: "sandboxes", namespace: metadata.namespace });
  const query = { labelSelector: `${CLAIM_UID_LABEL}=${metadata.uid}`, limit: "1" };
  const answer = await api.send({ method: "GET", path, query });
  if (!isOk(answer)) throw answerError(`list Sandboxes of SandboxClaim ${metadata.namespace}/${metadata.name}`, answer);
  return ((answer.body as { items?: unknown[] }).items ?? []).length > 0;
}

async function referredBy({ metadata, spec }: SandboxClaim, api: Api): Promise<Referred> {
  const { namespace } = metadata;
  const { name } = spec.warmPoolRef;
  const pool = await findObject(api, { resource: "sandboxwarmpools", namespace, name }, sandboxWarmPoolSchema);
  if (!pool) return { pool, template: undefined };
  const of = pool.spec.sandboxTemplateRef.name;
  const template = await findObject(api, { resource: "sandboxtemplates", namespace, name: of }, sandboxTemplateSchema);
  return { pool: { template: of }, template };
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
