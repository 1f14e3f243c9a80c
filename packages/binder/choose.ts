/** What a claim gets that waits: a member of its pool, a Sandbox of its own, or nothing yet. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { isFinal } from "../api/claims/binding.ts";
import { expiryTime } from "../api/expiry.ts";
import { metadataProblem } from "../api/claims/podmetadata.ts";
import { needsColdStart, requestProblem } from "../api/claims/request.ts";
import { isHandable } from "../../hooks/sandboxwarmpool/applied.ts";
import { blueprintHash, isStale } from "../../hooks/sandboxwarmpool/blueprint.ts";
import { countedUpTo } from "../../hooks/sandboxwarmpool/sequence.ts";
import { findCondition } from "../api/objects/conditions.ts";
import type { Members } from "./members.ts";

/** What there is for the claims of a pool. */
export interface Offer {
  /** Undefined: does not exist. */
  pool: SandboxWarmPool | undefined;
  template: SandboxTemplate | undefined;
  members: Pick<Members, "best" | "counts">;
  /** Claims before this one that wait for a member which has no address yet. */
  waiting: number;
}

/**
 * What becomes of a claim now. `refused`: it cannot be served as things are, and comes back when claim, pool or template
 * has changed, or with `awaitsMember` when a member has; `wait`: look again after so many milliseconds, or when a member
 * has changed.
 */
export type Choice =
  | { kind: "member"; pool: SandboxWarmPool; sandbox: Sandbox }
  | { kind: "cold"; pool: SandboxWarmPool; template: SandboxTemplate }
  | { kind: "wait"; ms: number }
  | { kind: "refused"; awaitsMember?: boolean };

/** How long a claim waits for a member that has no address yet before it gets a Sandbox of its own. */
export const PATIENCE_MS = 2000;

/** Tells whether a claim wants a Sandbox, if it has none: it is not being deleted, not expired, and not at its end. */
export function wantsSandbox(claim: SandboxClaim, now: number): boolean {
  const isExpired = (expiryTime(claim) ?? Infinity) <= now ||
    findCondition(claim.status?.conditions, "Ready")?.reason === "ClaimExpired";
  return claim.metadata.deletionTimestamp === undefined && !isExpired && !isFinal(claim);
}

/**
 * Decides for a claim that wants a Sandbox. Source: Agent Sandbox API, section 3.5.3.
 *
 * | what holds, the first that does | choice |
 * |---|---|
 * | the pool is missing or being deleted | refused |
 * | it asks for what the template does not allow | refused |
 * | with env or volumes | cold |
 * | a member is Ready, or runs, and the pool's status was seen to count its number | that member |
 * | it is younger than two seconds, and a member is coming that nobody before it waits for | wait |
 * | else | cold |
 *
 * Without a template there is no cold start: refused.
 */
export function choose(claim: SandboxClaim, offer: Offer, domains: readonly string[], now: number): Choice {
  const { pool, template, members } = offer;
  if (!pool || pool.metadata.deletionTimestamp !== undefined) return { kind: "refused" };
  const problem = template
    ? requestProblem(claim, template, domains)
    : metadataProblem(claim.spec.additionalPodMetadata, domains);
  if (problem) return { kind: "refused" };
  if (!needsColdStart(claim)) {
    const isFit = fitsIn(pool, template, now);
    // Another might be gone again with its claim before it is counted, and the next would have its name.
    const sandbox = members.best(isFit, countedUpTo(pool));
    if (sandbox) return { kind: "member", pool, sandbox };
    // Clocks differ: a claim from the far future would never lose its patience.
    const age = Math.abs(now - Date.parse(claim.metadata.creationTimestamp ?? ""));
    const isComing = members.counts().coming > offer.waiting || members.best(isFit) !== undefined;
    if (age < PATIENCE_MS && isComing) return { kind: "wait", ms: PATIENCE_MS - age };
  }
  return template ? { kind: "cold", pool, template } : { kind: "refused", awaitsMember: !needsColdStart(claim) };
}

/** Returns what tells whether a member can be given: under Recreate only if it is like the template. */
function fitsIn(
  pool: SandboxWarmPool,
  template: SandboxTemplate | undefined,
  now: number,
): (sandbox: Sandbox) => boolean {
  const isFree = (sandbox: Sandbox) => (aside.get(sandbox) ?? 0) <= now && isHandableOnce(sandbox);
  if (pool.spec.updateStrategy?.type !== "Recreate") return isFree;
  if (!template) return () => false;
  const hash = blueprintHash(template);
  return (sandbox) => isFree(sandbox) && !isStale(sandbox, template, hash);
}

/** Versions of members that are not to be given, until when, in milliseconds since the epoch. */
const aside = new WeakMap<Sandbox, number>();

/** Keeps a member, as it was observed, from being chosen for a while. */
export function setAside(sandbox: Sandbox, until: number): void {
  aside.set(sandbox, until);
}

/** What was found of Sandboxes as they were observed: the merge behind it costs more than all else here. */
const handable = new WeakMap<Sandbox, boolean>();

function isHandableOnce(sandbox: Sandbox): boolean {
  const found = handable.get(sandbox) ?? isHandable(sandbox);
  handable.set(sandbox, found);
  return found;
}
