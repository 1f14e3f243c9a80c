/** Leaves word on claims that cannot be served, and takes it back. Nothing is written of what has not lasted. @module */
import { type ClaimProblem, wordText } from "../api/claimproblem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { metadataProblem } from "../claims/podmetadata.ts";
import { NOT_SERVED } from "../claims/unserved.ts";
import { sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { sameJson } from "../lib/apply.ts";
import type { Clock } from "../lib/clock.ts";
import { UNRESOLVED_ANNOTATION } from "../lib/keys.ts";
import { kubeObjectSchema } from "../lib/objects.ts";
import type { Api } from "../kube/api.ts";
import { claimProblem, claimWord, isUnbound, type Surroundings } from "./claimproblem.ts";
import type { Duty } from "./duty.ts";
import type { Sink } from "../kube/watch.ts";
import { findObject } from "./findobject.ts";
import type { Pace } from "./look.ts";
import { lookDuty } from "./lookduty.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import type { References } from "./references.ts";
import type { Report } from "./report.ts";
import { createWaiting } from "./waiting.ts";

export interface ClaimProblemDutyOptions {
  api: Api;
  report: Report;
  references: References;
  /** Domains of label keys that claims may use. */
  domains: readonly string[];
  /** @default {systemClock} */
  clock?: Clock | undefined;
}

/** `kubectl apply -f folder` brings objects in any order: what is gone within this was never wrong. In milliseconds. */
const CLAIM_PACE: Pace = { settle: 1500, problem: 30_000, calm: 30_000 };

/** Makes the duty. A claim whose pool and template are there costs no request. */
export function claimProblemDuty(options: ClaimProblemDutyOptions): Duty<SandboxClaim> {
  return lookDuty({
    name: "claim problems",
    pace: CLAIM_PACE,
    clock: options.clock,
    situationOf: (claim: SandboxClaim) => claimWord(claim, (unbound) => knownProblem(unbound, options)),
    async look(claim, { problem }) {
      const isCertain = problem === undefined || await isStillSo(claim, problem, options);
      return isCertain && await publish(claim, problem, options) ? "nothing" : "problem";
    },
  });
}

/** Returns the sink of the duty's queue that sees claims again when what they refer to changes. */
export function withReferences(queue: Sink<SandboxClaim>, { pools, templates }: References): Sink<SandboxClaim> {
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

function knownProblem(claim: SandboxClaim, { references: { pools, templates }, domains }: ClaimProblemDutyOptions) {
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
  { api, domains }: ClaimProblemDutyOptions,
): Promise<boolean> {
  const surroundings = await surroundingsOf(claim, api);
  if (!sameJson(claimProblem(claim, surroundings, domains) ?? NOT_SERVED, problem)) return false;
  if (surroundings.template) return true;
  const name = claim.metadata.namespace ?? "";
  const namespace = await findObject(api, { resource: "namespaces", name }, kubeObjectSchema);
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

async function surroundingsOf({ metadata, spec }: SandboxClaim, api: Api): Promise<Surroundings> {
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
  { api, report }: ClaimProblemDutyOptions,
): Promise<boolean> {
  const { metadata } = claim;
  const text = problem ? wordText(claim, problem) : null;
  const body = patchOf(metadata, { annotations: { [UNRESOLVED_ANNOTATION]: text } });
  if (!await sendPatch(api, { kind: "SandboxClaim", resource: "sandboxclaims", metadata }, body)) return false;
  if (problem) report("annotated", metadata, { ...problem });
  else report("annotation removed", metadata, {});
  return true;
}
