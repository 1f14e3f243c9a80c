/** Which claim gets which Sandbox: the only allocator there is, for warm and cold alike. Decides, changes nothing. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { needsColdStart, requestProblem } from "../../claims/request.ts";
import { metadataProblem } from "../../claims/podmetadata.ts";
import { SANDBOX_NAME_ANNOTATION } from "../../lib/keys.ts";
import { isHandable } from "./applied.ts";
import type { WarmPoolConfig } from "./config.ts";
import { type FreeMembers, freeMembers } from "./free.ts";
import type { Assignment, PoolMemory } from "./memory.ts";
import { forClaim } from "./sandbox.ts";
import type { View } from "./view.ts";

/** What becomes of the claims in line. */
export interface Allocation {
  handed: { claim: SandboxClaim; sandbox: Sandbox }[];
  /** Claims that a Sandbox of their own is made for now. */
  cold: SandboxClaim[];
  /** Claims that one was made for a moment ago: it has not shown up yet, or could not be made. */
  asked: SandboxClaim[];
  /** Claims for which a member is on its way. */
  waiting: SandboxClaim[];
  /** Claims that were given a Sandbox a moment ago and do not show it yet. */
  settling: SandboxClaim[];
  /** Claims whose own Sandbox is there, and cannot be handed over before the keeper has seen to it. */
  held: SandboxClaim[];
  /** Claims that cannot be served as things are: bad requests, no template to make a Sandbox from, or the name is taken. */
  stranded: SandboxClaim[];
}

type Fate = Exclude<keyof Allocation, "handed">;

/** What is looked at for each claim. */
interface Line {
  view: View;
  free: FreeMembers;
  /** Sandboxes made for one claim, by UID of the claim. */
  own: Map<string | undefined, Sandbox>;
  labelDomains: readonly string[];
  memory: PoolMemory;
  now: Date;
}

/** How long a claim waits for a member that has no address yet before it gets a Sandbox of its own. */
const PATIENCE_MS = 2000;
/** Hand-overs and creations in one answer: they are written one by one, and a new claim waits until all are. */
const MOST_SERVED = 50;

/**
 * Decides for each claim, oldest first. Source: Agent Sandbox API, section 3.5.3.
 *
 * | claim | gets |
 * |---|---|
 * | was answered with a Sandbox that is gone from the pool | nothing more: it has it |
 * | has one made for it | that one |
 * | was answered with one that is still the pool's | the same again, and nobody else gets that one |
 * | asks for what the template does not allow | nothing |
 * | with env or volumes | one made for it |
 * | any other | the oldest Ready member, else the oldest that runs, else a wait of two seconds for one on its way |
 * | that waited long enough, or has none to wait for | one made for it |
 */
export function allocate(view: View, config: WarmPoolConfig, memory: PoolMemory, now: Date): Allocation {
  const allocation: Allocation = { handed: [], cold: [], asked: [], waiting: [], settling: [], held: [], stranded: [] };
  const free = freeMembers(view, promisedMembers(view, memory));
  const own = new Map(view.cold.map((sandbox) => [forClaim(sandbox), sandbox]));
  const line = { view, free, own, labelDomains: config.labelDomains, memory, now };
  for (const claim of view.claims) {
    if (allocation.handed.length + allocation.cold.length >= MOST_SERVED) break;
    const { uid = "" } = claim.metadata;
    const sandbox = sandboxOrFate(claim, line);
    if (typeof sandbox === "string") {
      allocation[sandbox].push(claim);
      if (sandbox === "cold") memory.asked.set(uid, now.getTime());
    } else {
      const { uid: sandboxUid = "", name, resourceVersion } = sandbox.metadata;
      allocation.handed.push({ claim, sandbox });
      memory.assignments.set(uid, { uid: sandboxUid, name, resourceVersion, at: now.getTime() });
    }
  }
  return allocation;
}

function sandboxOrFate(claim: SandboxClaim, line: Line): Sandbox | Fate {
  const { view, free, own, labelDomains, memory } = line;
  const { uid = "" } = claim.metadata;
  const before = remembered(memory, claim);
  if (before && isGone(before, view)) return "settling";
  const owned = own.get(uid);
  if (owned) return isHandable(owned) ? owned : "held";
  const promised = view.members.find(({ metadata }) => before && metadata.uid === before.uid);
  const again = promised && free.take(promised);
  if (again) return again;
  if (isRefused(claim, view, labelDomains)) return "stranded";
  return (needsColdStart(claim) ? undefined : memberFor(claim, line)) ?? coldFate(claim, line);
}

function memberFor({ metadata }: SandboxClaim, { free, now }: Line): Sandbox | "waiting" | undefined {
  const member = free.next();
  if (member) return member;
  // Clocks differ: a claim from the far future would never lose its patience.
  const age = Math.abs(now.getTime() - Date.parse(metadata.creationTimestamp ?? ""));
  return age < PATIENCE_MS && free.awaits() ? "waiting" : undefined;
}

function coldFate(claim: SandboxClaim, { view, memory }: Line): Fate {
  if (!view.template || !isNameFree(claim, view)) return "stranded";
  return memory.asked.has(claim.metadata.uid ?? "") ? "asked" : "cold";
}

function isRefused(claim: SandboxClaim, { template }: View, labelDomains: readonly string[]): boolean {
  const problem = template
    ? requestProblem(claim, template, labelDomains)
    : metadataProblem(claim.spec.additionalPodMetadata, labelDomains);
  return problem !== undefined;
}

/** A claim that names the Sandbox and is not bound has had it, and lost it: that assignment is over. */
function remembered({ assignments }: PoolMemory, { metadata }: SandboxClaim): Assignment | undefined {
  const { uid = "", annotations = {} } = metadata;
  const assignment = assignments.get(uid);
  if (assignment?.name !== annotations[SANDBOX_NAME_ANNOTATION]) return assignment;
  assignments.delete(uid);
  return undefined;
}

/** A Sandbox that the pool does not see any more has changed hands. */
function isGone({ uid }: Assignment, { members, cold, returned, draining, terminating }: View): boolean {
  return ![members, cold, returned, draining, terminating].flat().some(({ metadata }) => metadata.uid === uid);
}

/** One that is not the claim's must not be described again: it would be there twice, or its mark be taken back. */
function isNameFree({ metadata }: SandboxClaim, { members, cold, returned, draining, terminating }: View): boolean {
  return ![members, cold, returned, draining, terminating].flat().some(({ metadata: { name } }) =>
    name === metadata.name
  );
}

/**
 * Tells which members a claim was answered with: they are for it alone while it still waits, or while nothing has been
 * written to them since, which it may be that we only do not see.
 */
function promisedMembers({ claims }: View, { assignments }: PoolMemory): (member: Sandbox) => boolean {
  const waiting = new Set(claims.map(({ metadata }) => metadata.uid));
  const promises = new Map([...assignments].map(([claim, assignment]) => [assignment.uid, { claim, ...assignment }]));
  return ({ metadata }) => {
    const promise = promises.get(metadata.uid ?? "");
    return promise !== undefined &&
      (waiting.has(promise.claim) || promise.resourceVersion === metadata.resourceVersion);
  };
}
