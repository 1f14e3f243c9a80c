/**
 * Chooses what a claim gets: the best member of its pool (score.ts) that passes the filters, a new Sandbox, or nothing
 * yet. Caches the verdicts on members.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import {
  type ClaimProblem,
  nameTooLong,
  policyNotInForce,
  poolLeaving,
  poolNotFound,
  templateNotFound,
} from "../api/claims/problem.ts";
import { metadataProblem } from "../api/claims/podmetadata.ts";
import { needsColdStart, requestProblem } from "../api/claims/request.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { policyFault, policyMessage, type TemplatePolicy } from "../api/templatepolicy.ts";
import { isHandable } from "../../hooks/sandboxwarmpool/applied.ts";
import { blueprintHash, isStale } from "../../hooks/sandboxwarmpool/blueprint.ts";
import { countedUpTo } from "../../hooks/sandboxwarmpool/sequence.ts";
import { isReachable } from "../api/claims/binding.ts";
import { needsDelivery } from "../api/claims/latebinding.ts";
import { resourcesText } from "../api/claims/resources.ts";
import type { Members } from "./score.ts";
import { isProjection } from "./store.ts";

/**
 * What happens to a claim now.
 * - `member`: bind this member.
 * - `cold`: create a Sandbox for the claim. `notResized`: see boundsandbox.ts.
 * - `wait`: choose again after this many milliseconds, or when a member changes.
 * - `refused`: the claim cannot be served. Choose again when the claim, pool or template changes; with `awaitsMember`,
 *   also when a member changes. The claim's status reports `problem`; undefined: nothing to report yet.
 */
export type Choice =
  | { kind: "member"; pool: SandboxWarmPool; sandbox: Sandbox; template: SandboxTemplate | undefined }
  | { kind: "cold"; pool: SandboxWarmPool; template: SandboxTemplate; notResized?: string }
  | { kind: "wait"; ms: number }
  | { kind: "refused"; problem?: ClaimProblem; awaitsMember?: boolean };

/**
 * After this many members whose binding the API server refused, a claim gets a Sandbox of its own, or a report why it
 * cannot.
 */
export const MOST_REFUSED = 2;

/**
 * How long a claim waits for a member that has no address yet. After that, it gets a Sandbox of its own, as the
 * contract requires.
 */
export const PATIENCE_MS = 2000;

/**
 * Chooses for a claim that needs a Sandbox. The first row that applies decides. Source: Agent Sandbox API, section
 * 3.5.3.
 *
 * | condition | choice |
 * |---|---|
 * | the pool is missing or being deleted | refused |
 * | the claim requests something that the template does not allow | refused |
 * | the template's NetworkPolicy is required, and not in force | refused |
 * | the claim needs a Sandbox of its own, and its name is too long for one | refused |
 * | the claim sets volumes, env that cannot be bound late, or resources that no running container can get | cold |
 * | a member was not resized for the resources that the claim asks for | cold |
 * | the binding of two members to the claim was refused | cold |
 * | as the next row, but a Sandbox gets something, or is resized, for the claim while it runs, and the member is not Ready | as without a member |
 * | a member is Ready or running, the pool's status counts its number, and its binding was not refused | the best such member (score.ts) |
 * | the claim is younger than two seconds, and more members are coming than earlier claims wait for | wait |
 * | none of these | cold |
 *
 * Without a template, a Sandbox cannot be created: refused instead of cold.
 *
 * @param candidates `refused` lists the UIDs of members whose binding to this claim the API server refused. `notResized`
 * has why no member was resized for the claim, and the resources that it asked for then
 */
export function choose(
  claim: SandboxClaim,
  candidates: Candidates & {
    refused?: readonly string[];
    notResized?: { text: string; why: string } | undefined;
  },
  domains: readonly string[],
  now: number,
  allowedAnnotationDomains?: readonly string[],
): Choice {
  const { pool, template, refused = [] } = candidates;
  const resources = resourcesText(claim);
  if (!pool) return { kind: "refused", problem: poolNotFound(claim.spec.warmPoolRef.name) };
  if (pool.metadata.deletionTimestamp !== undefined) {
    return { kind: "refused", problem: poolLeaving(pool.metadata.name) };
  }
  const problem = template
    ? requestProblem(claim, template, domains, allowedAnnotationDomains)
    : metadataProblem(claim.spec.additionalPodMetadata, domains, allowedAnnotationDomains);
  if (problem) return { kind: "refused", problem };
  if (template && candidates.policyProblem !== undefined) {
    return { kind: "refused", problem: policyNotInForce(template.metadata.name, candidates.policyProblem) };
  }
  const needsOwn = needsColdStart(claim, template);
  const notResized = resources === undefined || candidates.notResized?.text !== resources
    ? undefined
    : candidates.notResized.why;
  if (!needsOwn && notResized === undefined && refused.length < MOST_REFUSED) {
    const { first, second, isUncounted, coming } = candidates.find();
    const sandbox = refused.includes(first?.metadata.uid ?? "") ? second() : first;
    const needsPod = needsDelivery(claim) || resources !== undefined;
    const isWanted = sandbox && (!needsPod || isReachable(sandbox));
    if (isWanted) return { kind: "member", pool, sandbox, template };
    // Math.abs, because clocks differ: a claim with a creation time far in the future would otherwise wait forever.
    const age = Math.abs(now - Date.parse(claim.metadata.creationTimestamp ?? ""));
    const isComing = coming > candidates.waiting || isUncounted;
    if (age < PATIENCE_MS && isComing) return { kind: "wait", ms: PATIENCE_MS - age };
  }
  if (!template) {
    const missing = templateNotFound(pool.spec.sandboxTemplateRef.name);
    return { kind: "refused", problem: missing, awaitsMember: !needsOwn };
  }
  const long = nameTooLong(claim.metadata.name, template);
  if (long) return { kind: "refused", problem: long, awaitsMember: !needsOwn };
  const why = needsOwn ? NOT_FOR_MEMBERS : notResized;
  return { kind: "cold", pool, template, ...(why === undefined ? {} : { notResized: why }) };
}

const NOT_FOR_MEMBERS =
  "no running member can have what the claim asks for: volumes, variables, or resources whose change restarts the container";

/** What a pool can offer to its claims. Valid as long as none of these objects changes. */
export interface Candidates {
  /** Undefined if the pool does not exist. */
  pool: SandboxWarmPool | undefined;
  template: SandboxTemplate | undefined;
  /** Why no sandbox of the template may start, see {@link policyProblem}; undefined if they may. */
  policyProblem: string | undefined;
  /** Returns which members can be bound. Computed once, even if many claims ask. */
  find(): Feasible;
  /** Number of earlier claims that wait for a member that has no address yet. */
  waiting: number;
}

interface Feasible {
  /** The best member; undefined if there is none. */
  first: Sandbox | undefined;
  /** Returns the next best member, for a claim that cannot have the first. */
  second(): Sandbox | undefined;
  /** Whether a member exists that can be bound once the pool's status counts it. */
  isUncounted: boolean;
  /** Number of members that have no address yet. */
  coming: number;
}

/** Creates the candidates of a pool, for the claims that are examined at the same time. */
export function candidatesOf(
  pool: SandboxWarmPool | undefined,
  template: SandboxTemplate | undefined,
  members: Pick<Members, "best" | "counts">,
  now: number,
  policyProblem?: string,
): Candidates {
  const find = once((): Feasible => {
    if (!pool) return NOTHING;
    const isRecreate = pool.spec.updateStrategy?.type === "Recreate";
    const isFit = (sandbox: Sandbox): boolean => {
      if (!isRecreate) return isFree(sandbox, now);
      // A member that differs from the template will be replaced soon.
      return template !== undefined && isFree(sandbox, now) && !isStaleOnce(sandbox, template);
    };
    // Bind only counted members. If an uncounted member were bound and its claim deleted at once, the pool would create
    // the next member with the same name.
    const upTo = countedUpTo(pool);
    const first = members.best(isFit, upTo);
    return {
      first,
      second: once(() => members.best((sandbox) => sandbox !== first && isFit(sandbox), upTo)),
      isUncounted: !first && members.best(isFit) !== undefined,
      coming: members.counts().coming,
    };
  });
  return { pool, template, policyProblem, find, waiting: 0 };
}

const NOTHING: Feasible = { first: undefined, second: () => undefined, isUncounted: false, coming: 0 };

function once<T>(find: () => T): () => T {
  let found: { value: T } | undefined;
  return () => (found ??= { value: find() }).value;
}

/** Results by template: hashing and comparing a template takes time in proportion to its size. */
const judged = new WeakMap<SandboxTemplate, { hash: string; stale: WeakMap<Sandbox, boolean> }>();

function isStaleOnce(sandbox: Sandbox, template: SandboxTemplate): boolean {
  const { hash, stale } = judged.get(template) ?? { hash: blueprintHash(template), stale: new WeakMap() };
  judged.set(template, { hash, stale });
  const found = stale.get(sandbox) ?? isStale(sandbox, template, hash);
  stale.set(sandbox, found);
  return found;
}

/** Results by observed Sandbox: the merge that computes them is the most expensive part of the choice. */
const handable = new WeakMap<Sandbox, boolean>();

function isFree(sandbox: Sandbox, now: number): boolean {
  if ((aside.get(sandbox) ?? 0) > now) return false;
  // A projection is examined later, when the full object has been fetched.
  const found = handable.get(sandbox) ?? (isProjection(sandbox) || isHandable(sandbox));
  handable.set(sandbox, found);
  return found;
}

/** Versions of members that must not be bound, and until when, in milliseconds since the epoch. */
const aside = new WeakMap<Sandbox, number>();
/** UID of the first claim for which the binding of this version of a member was refused. */
const refused = new WeakMap<Sandbox, string>();

/**
 * Records that the API server refused to bind this version of a member to a claim. If that happens for one claim only,
 * the claim may be the cause. If it happens for a second claim, no claim gets this version until `until`.
 *
 * @param claim UID of the claim
 * @param until in milliseconds since the epoch
 */
export function refuse(sandbox: Sandbox, claim: string, until: number): void {
  const first = refused.get(sandbox) ?? claim;
  refused.set(sandbox, first);
  if (first !== claim) aside.set(sandbox, until);
}

/**
 * Returns, as text for people, why no sandbox of the template may start and no member may be bound; undefined if they
 * may. If the template is gone, the pool's members may be bound, because no object shows whether they ever had a
 * policy.
 *
 * @param policy the object that has the name of the template's NetworkPolicy; undefined if there is none
 */
export function policyProblem(
  policy: KubeObject | undefined,
  templateNetworkPolicy: TemplatePolicy,
  template: SandboxTemplate | undefined,
): string | undefined {
  if (!template || templateNetworkPolicy === "optional") return undefined;
  const fault = policyFault(template, policy);
  return fault && policyMessage(template, fault);
}
