/** Gives a claim what was chosen for it, or finds what it has; of what is not kept whole, chooses by all of it. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import { isHandable } from "../../hooks/sandboxwarmpool/applied.ts";
import { backoffMs } from "../kube/backoff.ts";
import { type Choice, choose } from "./choose.ts";
import { coldSandbox, handedOver } from "./handover.ts";
import { withDefaults } from "./claimdefaults.ts";
import { policyProblem } from "./fence.ts";
import { offerOf } from "./offer.ts";
import { noteBinding, standing } from "./report.ts";
import { type Binder, type Entry, isServing } from "./state.ts";
import { askForClaim, askForMember, askForTemplate, isOutline } from "./whole.ts";
import { findOwn, type Given, postSandbox, putSandbox, RefusalError, searchOwn } from "./writes.ts";

export type Refused = Extract<Choice, { kind: "refused" }>;

/** A claim that is being served. */
export interface Job {
  entry: Entry;
  /** The entry as it was in line: it may turn to another pool meanwhile. */
  turn: Readonly<Entry>;
  /** Undefined: claim or template are not kept whole, so nothing can be chosen yet. */
  choice: Extract<Choice, { kind: "member" | "cold" }> | undefined;
  /** The member that was given, whole. */
  member?: Sandbox;
  /** The generation of the claim for which it was given. */
  generation?: number | undefined;
  /** Seen whole, it could be given nothing as things are. */
  refused?: Refused;
}

/**
 * Returns the Sandbox that the claim has all the same, though the watch has not shown it: it says so, a write has landed, or
 * a binder before this one has given it.
 */
export async function ownBefore({ api, index }: Binder, { claim, unsure }: Entry): Promise<Sandbox | undefined> {
  for (const name of new Set([claim.status?.sandbox?.name, unsure])) {
    const own = name === undefined ? undefined : await findOwn(api, claim, name);
    if (own) return own;
  }
  if (index.freshness.isFresh()) return undefined;
  const { own, version } = await searchOwn(api, claim);
  index.freshness.asked(version);
  return own;
}

/** Gives it. @returns undefined: it can be given nothing now */
export async function give(binder: Binder, job: Job): Promise<Given | undefined> {
  const { api, clock } = binder;
  const { entry } = job;
  const chosen = job.choice ? entry.claim : await chooseByAll(binder, job);
  const { choice } = job;
  if (!chosen || !choice) return undefined;
  const claim = await withDefaults(api, entry, chosen, choice.pool);
  job.generation = claim.metadata.generation;
  // Annotations that name a member which was lost could otherwise land after those that follow.
  await entry.noting;
  entry.noting = undefined;
  const now = new Date(clock.now());
  if (choice.kind === "cold") {
    entry.unsure = claim.metadata.name;
    const given = await postSandbox(api, coldSandbox(claim, choice.pool, choice.template, now), claim);
    entry.unsure = undefined;
    return given;
  }
  const member = isOutline(choice.sandbox) ? await askForMember(api, choice.sandbox) : choice.sandbox;
  if (!member) return "lost";
  if (member !== choice.sandbox && !isHandable(member)) throw new RefusalError("its Pod would not stay as it is");
  job.member = member;
  entry.unsure = member.metadata.name;
  noteBinding(binder, entry, claim, member, now);
  const given = await putSandbox(api, handedOver(member, claim, choice.template, now), claim);
  // Another binder may have given it to the same claim.
  entry.unsure = given === "lost" ? member.metadata.name : undefined;
  return given;
}

function templateOf({ index }: Binder, claim: SandboxClaim | undefined): SandboxTemplate | undefined {
  const { namespace = "" } = claim?.metadata ?? {};
  const pool = claim && index.pool(namespace, claim.spec.warmPoolRef.name);
  return pool && index.template(pool);
}

/** Asks for all of claim and template, chooses by that, and returns it; undefined: it is gone, or can be given nothing now. */
async function chooseByAll(binder: Binder, job: Job): Promise<SandboxClaim | undefined> {
  const { api, clock, index, allowedLabelDomains, allowedAnnotationDomains } = binder;
  const { entry } = job;
  // Its turn may come late.
  if (!isServing(binder)) return undefined;
  const claim = entry.raw ? entry.claim : sandboxClaimSchema.safeParse(await askForClaim(api, entry.claim)).data;
  const kept = templateOf(binder, claim);
  const template = kept && isOutline(kept) ? await askForTemplate(api, kept) : kept;
  const now = clock.now();
  const pool = claim && index.pool(entry.namespace, claim.spec.warmPoolRef.name);
  // Another one has come meanwhile.
  if (kept !== templateOf(binder, claim)) return undefined;
  const fault = policyProblem(index.policies, binder.templateNetworkPolicy, kept);
  const offer = offerOf(pool, template, index.members(pool), now, fault);
  const choice: Choice = claim && standing(binder, entry, claim).is === "wanting"
    ? choose(claim, { ...offer, refused: entry.refused }, allowedLabelDomains, now, allowedAnnotationDomains)
    : { kind: "refused" };
  if (choice.kind === "member" || choice.kind === "cold") {
    if (choice.kind === "member") index.assume(choice.sandbox);
    job.choice = choice;
    return claim;
  }
  entry.notBefore = now + (choice.kind === "wait" ? choice.ms : backoffMs(entry.failures++));
  if (choice.kind === "refused" && claim) job.refused = choice;
  return undefined;
}
