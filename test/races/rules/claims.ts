/** What claims may count on: their Sandbox is theirs, it is one, and it stays. @module */
import { findByName, type MemoryStore, objectsOf, type StoredChange } from "../../../packages/testing/store/memory.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { SandboxClaim } from "../../../packages/api/sandboxclaim.ts";
import { FINAL_REASONS } from "../../finalreasons.ts";
import { bareness } from "../../watchedclaims.ts";
import { FORBIDDEN_LABELS } from "../acts.ts";
import { claimOf, isSuspended, readyOf, statusOf } from "../shown.ts";
import type { Notice, Say } from "../surroundings.ts";

/** A Sandbox that was a claim's is never another's, nor the pool's again. */
export function ownersRule(say: Say): Notice {
  const owners = new Map<string, string>();
  return (_, after) => {
    if (after?.kind !== "Sandbox") return;
    const { uid = "", name } = after.metadata;
    const owner = claimOf(after);
    const first = owners.get(uid);
    if (first !== undefined && owner !== first) say(`Sandbox ${name} went from claim ${first} to ${owner}`);
    if (owner !== undefined) owners.set(uid, owner);
  };
}

/** No Sandbox carries labels that its claim may not ask for. */
export function labelsRule(say: Say): Notice {
  return (_, after) => {
    if (after?.kind !== "Sandbox") return;
    const { podTemplate } = after["spec"] as { podTemplate?: { metadata?: { labels?: Record<string, string> } } };
    const labels = Object.entries(podTemplate?.metadata?.labels ?? {});
    const forged = labels.find(([key, value]) => (FORBIDDEN_LABELS as Record<string, string>)[key] === value);
    if (forged) say(`Sandbox ${after.metadata.name} carries ${forged.join("=")}`);
  };
}

/** A claim is never given a second Sandbox while it has one; two binders at once may, and its hook takes one back. */
export function oneRule(say: Say): (change: StoredChange) => void {
  const claims = new Map<string, string>();
  return ({ object, isGone }) => {
    if (object.kind !== "Sandbox") return;
    const { uid = "", name, deletionTimestamp } = object.metadata;
    const claim = isGone || deletionTimestamp ? undefined : claimOf(object);
    if (claim === undefined) return void claims.delete(uid);
    const isAnothers = [...claims].some(([other, owner]) => other !== uid && owner === claim);
    if (!claims.has(uid) && isAnothers) say(`claim ${claim} was given ${name} in addition to another Sandbox`);
    claims.set(uid, claim);
  };
}

/**
 * A claim shows one Sandbox until that is gone, and Ready only with addresses. Where two binders lead at once each may
 * show its own, and the claim keeps one of them.
 */
export function shownRule(store: MemoryStore, say: Say, hasTwoBinders: boolean): Notice {
  const last = new Map<string, { name: string; uid: string }>();
  return (_, after) => {
    if (after?.kind !== "SandboxClaim") return;
    const { uid = "", name: claim } = after.metadata;
    const { name, podIPs = [] } = statusOf(after).sandbox ?? {};
    const before = last.get(uid);
    if (readyOf(after)?.status === "True" && podIPs.length === 0) say(`claim ${claim} is Ready without an address`);
    if (readyOf(after)?.status === "True" && !name) say(`claim ${claim} is Ready without a Sandbox`);
    if (!name) return;
    const live = findByName(store, "Sandbox", name);
    const old = before && findByName(store, "Sandbox", before.name);
    if (
      !hasTwoBinders && before && name !== before.name && old?.metadata.uid === before.uid &&
      !old.metadata.deletionTimestamp
    ) {
      say(`claim ${claim} showed ${before.name} and shows ${name}`);
    }
    if (live) last.set(uid, { name, uid: live.metadata.uid ?? "" });
  };
}

/** A claim that is Ready has the annotations that clients read at that moment; two binders may each name their own Sandbox. */
export function annotatedRule(say: Say, hasTwoBinders: boolean): Notice {
  if (hasTwoBinders) return () => {};
  return (_, after) => {
    const lack = after?.kind === "SandboxClaim" ? bareness(after as unknown as SandboxClaim) : undefined;
    if (lack) say(`claim is Ready: ${lack}`);
  };
}

/**
 * A claim that showed a final reason is never Ready again, unless its user has stopped and started the Sandbox, has
 * put off the claim's end, or has made the pool that it lacked.
 */
export function finalRule(store: MemoryStore, say: Say): Notice {
  const ended = new Map<string, string>();
  /** All that there ever were: the one that a claim lacked may be gone again before the claim says that it is Ready. */
  const pools = new Set<string | undefined>();
  /** How many there had been when a claim came. */
  const poolsBefore = new Map<string, number>();
  const restarted = new Set<string>();
  return (_, after, verb) => {
    if (verb === "look") suspendedClaims(store).forEach((uid) => restarted.add(uid));
    for (const { metadata } of objectsOf(store, "SandboxWarmPool")) pools.add(metadata.uid);
    if (after?.kind !== "SandboxClaim") return;
    const { uid = "", name } = after.metadata;
    const ready = readyOf(after);
    const reason = ended.get(uid);
    const before = poolsBefore.get(uid) ?? pools.size;
    poolsBefore.set(uid, before);
    if (reason === "WarmPoolNotFound" && pools.size > before) ended.delete(uid);
    else if (reason === "ClaimExpired" && !isOver(after, store.clock.now())) ended.delete(uid);
    else if (ready?.status === "True" && reason && !restarted.has(uid)) say(`claim ${name} is Ready after ${reason}`);
    // A process that reports this of a claim whose end its user has put off has not seen that yet.
    const isPutOff = ready?.reason === "ClaimExpired" && !isOver(after, store.clock.now());
    if (ready?.status === "False" && FINAL_REASONS.has(ready.reason) && !isPutOff) ended.set(uid, ready.reason);
  };
}

/** The keeper deletes only what says that it has expired, and has. */
export function expiryRule(store: MemoryStore, say: Say): Notice {
  return (before, after, verb, by) => {
    if (before?.kind !== "SandboxClaim" || by !== "keeper" || verb !== "delete") return;
    const { name, uid, deletionTimestamp } = before.metadata;
    // Refused: it is there as it was.
    if (after?.metadata.uid === uid && !after?.metadata.deletionTimestamp) return;
    const isDue = isOver(before, store.clock.now()) && readyOf(before)?.reason === "ClaimExpired";
    if (!deletionTimestamp && !isDue) say(`claim ${name} was deleted before its time`);
  };
}

function isOver({ spec }: KubeObject, now: number): boolean {
  const { lifecycle } = spec as { lifecycle?: { shutdownTime?: string } };
  return Date.parse(lifecycle?.shutdownTime ?? "") <= now;
}

/** What a claim has or shows is deleted only if the claim is gone or expired, or has another one to show. */
export function deletionRule(store: MemoryStore, say: Say): Notice {
  return (before, _, verb) => {
    if (before?.kind !== "Sandbox" || verb !== "delete" || before.metadata.deletionTimestamp) return;
    const { name } = before.metadata;
    const claims = objectsOf(store, "SandboxClaim").filter(({ metadata }) => !metadata.deletionTimestamp);
    for (const claim of claims) {
      if (readyOf(claim)?.reason === "ClaimExpired") continue;
      const shown = statusOf(claim).sandbox?.name;
      const others = objectsOf(store, "Sandbox").filter((sandbox) => claimOf(sandbox) === claim.metadata.uid);
      const isOwner = claimOf(before) === claim.metadata.uid;
      if (shown === name) say(`Sandbox ${name} was deleted while claim ${claim.metadata.name} showed it`);
      else if (isOwner && others.length === 0) {
        say(`Sandbox ${name} was deleted, claim ${claim.metadata.name} had no other`);
      }
    }
  };
}

function suspendedClaims(store: MemoryStore): string[] {
  return objectsOf(store, "Sandbox").filter(isSuspended).flatMap((sandbox) => claimOf(sandbox) ?? []);
}
