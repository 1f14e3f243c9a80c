/**
 * Chooses what a claim gets: the best (score.ts) of those members of its pool that pass the filters, a new Sandbox, or nothing
 * yet. Remembers the verdicts on members, and sends nothing.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { ClaimProblem } from "../api/claimproblem.ts";
import { metadataProblem } from "../api/claims/podmetadata.ts";
import { needsColdStart, requestProblem } from "../api/claims/request.ts";
import { nameTooLong, policyNotInForce, poolLeaving, poolNotFound, templateNotFound } from "../api/claims/unserved.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { policyFault, policyMessage, type TemplatePolicy } from "../api/templatepolicy.ts";
import { isHandable } from "../../hooks/sandboxwarmpool/applied.ts";
import { blueprintHash, isStale } from "../../hooks/sandboxwarmpool/blueprint.ts";
import { countedUpTo } from "../../hooks/sandboxwarmpool/sequence.ts";
import type { Members } from "./score.ts";
import { isProjection } from "./store.ts";

/**
 * What becomes of a claim now. `refused`: it cannot be served as things are, and comes back when claim, pool or template
 * has changed, or with `awaitsMember` when a member has; `problem` is what its status reports, undefined: nothing yet. `wait`:
 * look again after so many milliseconds, or when a member has changed.
 */
export type Choice =
  | { kind: "member"; pool: SandboxWarmPool; sandbox: Sandbox; template: SandboxTemplate | undefined }
  | { kind: "cold"; pool: SandboxWarmPool; template: SandboxTemplate }
  | { kind: "wait"; ms: number }
  | { kind: "refused"; problem?: ClaimProblem; awaitsMember?: boolean };

/** After so many members that the API server would not hand over to it a claim gets a Sandbox of its own, or hears why not. */
export const MOST_REFUSED = 2;

/** How long a claim waits for a member that has no address yet before it gets a Sandbox of its own: the contract says so. */
export const PATIENCE_MS = 2000;

/**
 * Decides for a claim that wants a Sandbox. Source: Agent Sandbox API, section 3.5.3.
 *
 * | what holds, the first that does | choice |
 * |---|---|
 * | the pool is missing or being deleted | refused |
 * | it asks for what the template does not allow | refused |
 * | the template's NetworkPolicy is required, and not in force | refused |
 * | it needs a Sandbox of its own, and its name is too long for one | refused |
 * | with env or volumes | cold |
 * | two members were refused to it | cold |
 * | a member is Ready, or runs, the pool's status was seen to count its number, and it was not refused | the best such member (score.ts) |
 * | it is younger than two seconds, and a member is coming that nobody before it waits for | wait |
 * | else | cold |
 *
 * Without a template there is no cold start: refused.
 *
 * @param candidates with `refused`, the UIDs of members that the API server would not hand over to this claim
 */
export function choose(
  claim: SandboxClaim,
  candidates: Candidates & { refused?: readonly string[] },
  domains: readonly string[],
  now: number,
  allowedAnnotationDomains?: readonly string[],
): Choice {
  const { pool, template, refused = [] } = candidates;
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
  if (!needsColdStart(claim) && refused.length < MOST_REFUSED) {
    const { first, second, isUncounted, coming } = candidates.find();
    const sandbox = refused.includes(first?.metadata.uid ?? "") ? second() : first;
    if (sandbox) return { kind: "member", pool, sandbox, template };
    // Clocks differ: a claim from the far future would never lose its patience.
    const age = Math.abs(now - Date.parse(claim.metadata.creationTimestamp ?? ""));
    const isComing = coming > candidates.waiting || isUncounted;
    if (age < PATIENCE_MS && isComing) return { kind: "wait", ms: PATIENCE_MS - age };
  }
  if (!template) {
    const missing = templateNotFound(pool.spec.sandboxTemplateRef.name);
    return { kind: "refused", problem: missing, awaitsMember: !needsColdStart(claim) };
  }
  const long = nameTooLong(claim.metadata.name, template);
  if (long) return { kind: "refused", problem: long, awaitsMember: !needsColdStart(claim) };
  return { kind: "cold", pool, template };
}

/** What there is for the claims of a pool, for as long as nothing of it changes. */
export interface Candidates {
  /** Undefined: does not exist. */
  pool: SandboxWarmPool | undefined;
  template: SandboxTemplate | undefined;
  /** Why no sandbox of the template may start; undefined: they may, see {@link policyProblem}. */
  policyProblem: string | undefined;
  /** What claims may have of the members; looked for once, however many ask. */
  find(): Feasible;
  /** Claims before this one that wait for a member which has no address yet. */
  waiting: number;
}

interface Feasible {
  /** The member whose turn it is; undefined: there is none. */
  first: Sandbox | undefined;
  /** Returns the one after it, for a claim that cannot have the first. */
  second(): Sandbox | undefined;
  /** Whether there is one that could be given once it is counted. */
  isUncounted: boolean;
  /** Members that have no address yet. */
  coming: number;
}

/** Makes the candidates of a pool, for claims that are judged at one time. */
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
      // A member that is not like the template is about to be replaced.
      return template !== undefined && isFree(sandbox, now) && !isStaleOnce(sandbox, template);
    };
    // Another might be gone again with its claim before it is counted, and the next would have its name.
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

/** What was found of templates as they are: to hash and to compare one takes as long as it is large. */
const judged = new WeakMap<SandboxTemplate, { hash: string; stale: WeakMap<Sandbox, boolean> }>();

function isStaleOnce(sandbox: Sandbox, template: SandboxTemplate): boolean {
  const { hash, stale } = judged.get(template) ?? { hash: blueprintHash(template), stale: new WeakMap() };
  judged.set(template, { hash, stale });
  const found = stale.get(sandbox) ?? isStale(sandbox, template, hash);
  stale.set(sandbox, found);
  return found;
}

/** What was found of Sandboxes as they were observed: the merge behind it costs more than all else here. */
const handable = new WeakMap<Sandbox, boolean>();

function isFree(sandbox: Sandbox, now: number): boolean {
  if ((aside.get(sandbox) ?? 0) > now) return false;
  // A projection is judged once all of it is there.
  const found = handable.get(sandbox) ?? (isProjection(sandbox) || isHandable(sandbox));
  handable.set(sandbox, found);
  return found;
}

/** Versions of members that are not to be given, until when, in milliseconds since the epoch. */
const aside = new WeakMap<Sandbox, number>();
/** UIDs of the claims to which versions of members were refused first. */
const refused = new WeakMap<Sandbox, string>();

/**
 * Takes note that the API server would not hand a member, as it was observed, over to a claim. What is refused to one may
 * be that claim's fault; what is refused to another one, too, is kept from being chosen until then.
 *
 * @param claim its UID
 * @param until in milliseconds since the epoch
 */
export function refuse(sandbox: Sandbox, claim: string, until: number): void {
  const first = refused.get(sandbox) ?? claim;
  refused.set(sandbox, first);
  if (first !== claim) aside.set(sandbox, until);
}

/**
 * Tells why no sandbox of the template may start, and no member may be bound, for people; undefined: they may.
 *
 * @param policy what has the name of the template's NetworkPolicy; undefined: nothing
 *
 * If the template is gone, the pool's members may be bound: no object shows whether they ever had a policy.
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
