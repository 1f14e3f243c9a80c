/** Watches every write of a run, and notes what must never happen at the moment that it does. @module */
import type { MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import { sameJson } from "../../lib/apply.ts";
import { type Condition, findCondition } from "../../lib/conditions.ts";
import { FOR_CLAIM_ANNOTATION, WARM_POOL_LABEL } from "../../lib/keys.ts";
import { controllerOf, type KubeObject } from "../../lib/objects.ts";
import { FINAL_REASONS } from "../finalreasons.ts";
import { findObject, objectsOf } from "../../testing/objects.ts";
import type { Notice } from "./weather.ts";

/** The part of a claim's or a Sandbox's status that is judged. */
export interface Shown {
  conditions?: Condition[];
  sandbox?: { name?: string; podIPs?: string[] };
}

export interface History {
  /** What must never happen and did. */
  violations: string[];
  /** To be told of every write of the engine. */
  notice: Notice;
  /** To be called after whatever users do. */
  look(): void;
}

/** Starts a history. */
export function createHistory(store: MemoryStore): History {
  const violations: string[] = [];
  const say = (text: string) => void violations.push(`${store.clock.now() % 1e6}: ${text}`);
  const rules = [
    ownersRule(say),
    shownRule(store, say),
    finalRule(store, say),
    deletionRule(store, say),
    crowdRule(store, say),
    specRule(store, say),
    nameRule(say),
  ];
  const notice: Notice = (before, after, verb) => rules.forEach((rule) => rule(before, after, verb));
  return { violations, notice, look: () => notice(undefined, undefined, "look") };
}

type Say = (text: string) => void;

/** An engine may act for so long on what it saw before. */
const LATE_MS = 5000;

/** Returns the UID of the claim that has a Sandbox; undefined: none has. */
export function claimOf({ metadata }: KubeObject): string | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === "SandboxClaim" ? owner.uid : undefined;
}

export function statusOf(object: KubeObject | undefined): Shown {
  return (object?.["status"] ?? {}) as Shown;
}

export function readyOf(object: KubeObject | undefined): Condition | undefined {
  return findCondition(statusOf(object).conditions, "Ready");
}

/** A Sandbox that was a claim's is never another's, nor the pool's again. */
function ownersRule(say: Say): Notice {
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

/** A claim shows one Sandbox until that is gone, and Ready only with addresses. */
function shownRule(store: MemoryStore, say: Say): Notice {
  const last = new Map<string, { name: string; uid: string }>();
  return (_, after) => {
    if (after?.kind !== "SandboxClaim") return;
    const { uid = "", name: claim } = after.metadata;
    const { name, podIPs = [] } = statusOf(after).sandbox ?? {};
    const before = last.get(uid);
    if (readyOf(after)?.status === "True" && podIPs.length === 0) say(`claim ${claim} is Ready without an address`);
    if (readyOf(after)?.status === "True" && !name) say(`claim ${claim} is Ready without a Sandbox`);
    if (!name) return;
    const live = findObject(store, "Sandbox", name);
    const old = before && findObject(store, "Sandbox", before.name);
    if (before && name !== before.name && old?.metadata.uid === before.uid && !old.metadata.deletionTimestamp) {
      say(`claim ${claim} showed ${before.name} and shows ${name}`);
    }
    if (live) last.set(uid, { name, uid: live.metadata.uid ?? "" });
  };
}

/**
 * A claim that showed a final reason is never Ready again, unless its user has stopped and started the Sandbox, or has
 * made the pool that it lacked.
 */
function finalRule(store: MemoryStore, say: Say): Notice {
  const ended = new Map<string, string>();
  const firstPool = new Map<string, string | undefined>();
  const restarted = new Set<string>();
  return (_, after, verb) => {
    if (verb === "look") suspendedClaims(store).forEach((uid) => restarted.add(uid));
    if (after?.kind !== "SandboxClaim") return;
    const { uid = "", name } = after.metadata;
    const ready = readyOf(after);
    const reason = ended.get(uid);
    const pool = objectsOf(store, "SandboxWarmPool")[0]?.metadata.uid;
    if (!firstPool.has(uid)) firstPool.set(uid, pool);
    if (reason === "WarmPoolNotFound" && pool !== firstPool.get(uid)) ended.delete(uid);
    else if (ready?.status === "True" && reason && !restarted.has(uid)) say(`claim ${name} is Ready after ${reason}`);
    if (ready?.status === "False" && FINAL_REASONS.has(ready.reason)) ended.set(uid, ready.reason);
  };
}

function isSuspended({ spec }: KubeObject): boolean {
  return (spec as { operatingMode?: string }).operatingMode === "Suspended";
}

function suspendedClaims(store: MemoryStore): string[] {
  return objectsOf(store, "Sandbox").filter(isSuspended).flatMap((sandbox) => claimOf(sandbox) ?? []);
}

/** What a claim has or shows is deleted only if the claim is gone or expired, or has another one to show. */
function deletionRule(store: MemoryStore, say: Say): Notice {
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

/**
 * A pool never makes more members than it was ever to have, nor two Sandboxes for one claim at a time. For each member
 * that users take away it may make one more: an engine that has not seen the loss makes that very one again.
 */
function crowdRule(store: MemoryStore, say: Say): Notice {
  const most = new Map<string, number>();
  const known = new Map<string, string>();
  const taken = new Map<string, number>();
  const isMember = ({ metadata }: KubeObject) => metadata.labels?.[WARM_POOL_LABEL] !== undefined;
  const countTaken = () => {
    const live = objectsOf(store, "Sandbox").filter(isMember);
    const uids = new Set(live.map(({ metadata }) => metadata.uid));
    for (const [uid, pool] of known) {
      if (uids.has(uid)) continue;
      known.delete(uid);
      taken.set(pool, (taken.get(pool) ?? 0) + 1);
    }
    for (const { metadata } of live) known.set(metadata.uid ?? "", controllerOf(metadata)?.uid ?? "");
  };
  return (before, after, verb) => {
    if (before?.kind === "Sandbox" && verb === "delete") known.delete(before.metadata.uid ?? "");
    countTaken();
    for (const pool of objectsOf(store, "SandboxWarmPool")) {
      const { replicas } = pool["spec"] as { replicas: number };
      most.set(pool.metadata.uid ?? "", Math.max(most.get(pool.metadata.uid ?? "") ?? 0, replicas));
    }
    const owner = after && controllerOf(after.metadata);
    if (after?.kind !== "Sandbox" || verb !== "create" || owner?.kind !== "SandboxWarmPool") return;
    const owned = objectsOf(store, "Sandbox").filter(({ metadata }) => controllerOf(metadata)?.uid === owner.uid);
    const members = owned.filter(isMember);
    const limit = (most.get(owner.uid) ?? Infinity) + (taken.get(owner.uid) ?? 0);
    if (members.length > limit) say(`pool ${owner.name} has ${members.length} members, ${limit} wanted at most`);
    const forClaims = owned.map(({ metadata }) => metadata.annotations?.[FOR_CLAIM_ANNOTATION]).filter(Boolean);
    if (new Set(forClaims).size < forClaims.length) say(`pool ${owner.name} made two Sandboxes for one claim`);
  };
}

/** No member has the name of one that a claim was given, or that the engine has deleted. */
function nameRule(say: Say): Notice {
  const used = new Set<string>();
  return (before, after, verb) => {
    const { kind, metadata } = after ?? before ?? { kind: "", metadata: { name: "" } };
    if (kind !== "Sandbox") return;
    const isMember = metadata.labels?.[WARM_POOL_LABEL] !== undefined;
    if (!before && isMember && used.has(metadata.name)) say(`Sandbox ${metadata.name} was made a second time`);
    if (verb === "delete" || (after && claimOf(after))) used.add(metadata.name);
  };
}

/**
 * What a Sandbox's spec says stays, but for its Pod's metadata; a Pod's stays whole, and a Pod unless it is suspended, or
 * was a moment ago, which is what a late view shows.
 */
function specRule(store: MemoryStore, say: Say): Notice {
  const suspendedAt = new Map<string, number>();
  return (before, after, verb) => {
    for (const sandbox of objectsOf(store, "Sandbox").filter(isSuspended)) {
      suspendedAt.set(sandbox.metadata.name, store.clock.now());
    }
    const { kind = "", metadata } = before ?? {};
    if (kind === "Pod" && verb === "delete") {
      const sandbox = findObject(store, "Sandbox", metadata?.name ?? "");
      const { operatingMode } = (sandbox?.["spec"] ?? {}) as { operatingMode?: string };
      const sinceMs = store.clock.now() - (suspendedAt.get(metadata?.name ?? "") ?? -Infinity);
      if (operatingMode === "Running" && sinceMs > LATE_MS) {
        say(`Pod ${metadata?.name} was deleted though its Sandbox runs`);
      }
    }
    if (!before || !after || verb !== "update" || (kind !== "Sandbox" && kind !== "Pod")) return;
    if (!sameJson(lastingSpec(before), lastingSpec(after))) say(`the spec of ${kind} ${metadata?.name} was changed`);
  };
}

function lastingSpec({ spec }: KubeObject): object {
  const { podTemplate, ...rest } = spec as { podTemplate?: { metadata?: object } };
  const { metadata: _, ...lasting } = podTemplate ?? {};
  return { ...rest, podTemplate: lasting };
}
