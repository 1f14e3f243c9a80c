/** Which claim gets which Sandbox: the only allocator there is, for warm and cold alike. Decides, changes nothing. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { needsColdStart, requestProblem } from "../../claims/request.ts";
import { metadataProblem } from "../../claims/podmetadata.ts";
import { SANDBOX_NAME_ANNOTATION } from "../../lib/keys.ts";
import { isHandable } from "./applied.ts";
import { blueprintHash, isStale } from "./blueprint.ts";
import { type MemberState, memberState } from "./condition.ts";
import type { WarmPoolConfig } from "./config.ts";
import type { Assignment, PoolMemory } from "./memory.ts";
import { forClaim } from "./sandbox.ts";
import type { View } from "./view.ts";

/** What becomes of the claims in line. */
export interface Allocation {
  handed: { claim: SandboxClaim; sandbox: Sandbox }[];
  /** Claims that a Sandbox of their own is made for now. */
  cold: SandboxClaim[];
  /** Claims for which a member is on its way. */
  waiting: SandboxClaim[];
  /** Claims whose own Sandbox is there, and cannot be handed over before the keeper has seen to it. */
  held: SandboxClaim[];
  /** Claims that were given a Sandbox a moment ago and do not show it yet. */
  settling: SandboxClaim[];
  /** Claims that cannot be served as things are: bad requests, no template to make a Sandbox from, or the name is taken. */
  stranded: SandboxClaim[];
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
 * | was answered with one that is still the pool's | the same again |
 * | has one made for it | that one |
 * | asks for what the template does not allow | nothing |
 * | with env or volumes | one made for it |
 * | any other | the oldest Ready member, else the oldest that runs, else a wait of two seconds for one on its way |
 * | that waited long enough, or has none to wait for | one made for it |
 */
export function allocate(view: View, config: WarmPoolConfig, memory: PoolMemory, now: Date): Allocation {
  const allocation: Allocation = { handed: [], cold: [], waiting: [], held: [], settling: [], stranded: [] };
  const free = freeMembers(view);
  const own = new Map(view.cold.map((sandbox) => [forClaim(sandbox), sandbox]));
  for (const claim of view.claims) {
    if (allocation.handed.length + allocation.cold.length >= MOST_SERVED) break;
    const { uid = "" } = claim.metadata;
    const before = remembered(memory, claim);
    if (before && isGone(before, view)) {
      allocation.settling.push(claim);
      continue;
    }
    const owned = own.get(uid);
    if (owned && !isHandable(owned)) {
      allocation.held.push(claim);
      continue;
    }
    const repeated = before && view.members.find(({ metadata }) => metadata.uid === before.uid);
    const sandbox = owned ?? (repeated && free.take(repeated)) ?? pick(view, claim, free, config, allocation, now);
    if (!sandbox) continue;
    allocation.handed.push({ claim, sandbox });
    memory.assignments.set(uid, { uid: sandbox.metadata.uid ?? "", name: sandbox.metadata.name, at: now.getTime() });
  }
  return allocation;
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

/** Finds a member for a claim, or puts the claim on the list that it belongs to. */
function pick(
  view: View,
  claim: SandboxClaim,
  free: Free,
  config: WarmPoolConfig,
  allocation: Allocation,
  now: Date,
): Sandbox | undefined {
  const { template } = view;
  const isRefused = template
    ? requestProblem(claim, template, config.labelDomains)
    : metadataProblem(claim.spec.additionalPodMetadata, config.labelDomains);
  if (isRefused) {
    allocation.stranded.push(claim);
    return undefined;
  }
  if (!needsColdStart(claim)) {
    const sandbox = free.next("ready") ?? free.next("starting");
    if (sandbox) return sandbox;
    const age = now.getTime() - Date.parse(claim.metadata.creationTimestamp ?? "");
    if (age < PATIENCE_MS && free.count("coming") > allocation.waiting.length) {
      allocation.waiting.push(claim);
      return undefined;
    }
  }
  (template && isNameFree(claim, view) ? allocation.cold : allocation.stranded).push(claim);
  return undefined;
}

/** A Sandbox that is on its way out must not be described again: its mark would be taken back. */
function isNameFree({ metadata }: SandboxClaim, { members, returned, draining, terminating }: View): boolean {
  return ![members, returned, draining, terminating].flat().some((sandbox) => sandbox.metadata.name === metadata.name);
}

interface Free {
  /** Takes the oldest of that state. */
  next(state: MemberState): Sandbox | undefined;
  /** Takes this one, if it is still free. */
  take(sandbox: Sandbox): Sandbox | undefined;
  count(state: MemberState): number;
}

/** Members that claims can have: under Recreate only those that are like the template. */
function freeMembers({ pool, template, members }: View): Free {
  const isStrict = pool.spec.updateStrategy?.type === "Recreate" && template;
  const hash = isStrict ? blueprintHash(template) : "";
  const good = isStrict ? members.filter((member) => !isStale(member, template, hash)) : members;
  const states = Map.groupBy(good, memberState);
  const of = (state: MemberState) => states.get(state) ?? [];
  return {
    next(state) {
      const list = of(state);
      const index = list.findIndex(isHandable);
      return index < 0 ? undefined : list.splice(index, 1)[0];
    },
    take(sandbox) {
      for (const state of ["ready", "starting"] as const) {
        const index = of(state).indexOf(sandbox);
        if (index >= 0) return of(state).splice(index, 1)[0];
      }
      return undefined;
    },
    count: (state) => of(state).length,
  };
}
