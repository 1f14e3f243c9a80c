/** Asks the API server itself whether a claim cannot be served, before its status reports that. @module */
import type { ClaimProblem } from "../api/claimproblem.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { policyName, policyToKeep } from "../api/templatepolicy.ts";
import { sameJson } from "../api/objects/apply.ts";
import { findObject, findRaw } from "../kube/find.ts";
import { choose } from "./choose.ts";
import { policyProblem } from "./fence.ts";
import { offerOf } from "./offer.ts";
import type { Binder, Entry } from "./state.ts";
import { searchOwn } from "./writes.ts";

/**
 * Tells whether pool, template and NetworkPolicy, as the API server has them now, keep the claim from being served for this
 * reason. False as well if the claim has a Sandbox that the watch has not shown yet.
 *
 * @throws {Error} if the API server does not answer
 */
export async function isStillRefused(
  binder: Binder,
  { namespace, refused }: Entry,
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
  const policy = isPolicyAsked ? await findPolicy(binder, template) : undefined;
  const fault = policyProblem({ of: () => policy }, templateNetworkPolicy, template);
  const now = clock.now();
  const members = index.members(index.pool(namespace, name));
  const offer = { ...offerOf(pool, template, members, now, fault), refused };
  const choice = choose(claim, offer, allowedLabelDomains, now, allowedAnnotationDomains);
  return choice.kind === "refused" && sameJson(choice.problem, problem);
}

async function findPolicy({ api }: Binder, { metadata: { namespace, name } }: SandboxTemplate) {
  return policyToKeep(await findRaw(api, { resource: "networkpolicies", namespace, name: policyName(name) }));
}
