/**
 * Computes when claims and Sandboxes expire, and whether they report it. The hooks, which report it, and the keeper,
 * which deletes, use the same rule. @module
 */
import type { SandboxClaim } from "./sandboxclaim.ts";
import { type Condition, findCondition } from "./objects/conditions.ts";
import { isObject, readJson } from "./objects/json.ts";
import type { ObjectMeta } from "./objects/objects.ts";
import { EXPIRED_ANNOTATION } from "./router/protocol.ts";

/**
 * Returns when a claim expires, in milliseconds since the epoch; undefined: never, as far as is known.
 *
 * It is the earlier of two times: `shutdownTime`, and `ttlSecondsAfterFinished` after the claim's Finished condition
 * became True. A time that is not valid is ignored. Source: Agent Sandbox API, section 3.5.6.
 */
export function expiryTime({ spec: { lifecycle }, status }: SandboxClaim): number | undefined {
  const finished = findCondition(status?.conditions, "Finished");
  const ttl = lifecycle?.ttlSecondsAfterFinished;
  const times = [
    Date.parse(lifecycle?.shutdownTime ?? ""),
    ttl !== undefined && finished?.status === "True" ? Date.parse(finished.lastTransitionTime) + ttl * 1000 : NaN,
  ].filter((time) => !Number.isNaN(time));
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** Tells whether a claim has expired. At the time itself, it has. @param now in milliseconds since the epoch */
export function hasExpired(claim: SandboxClaim, now: number): boolean {
  return (expiryTime(claim) ?? Infinity) <= now;
}

/**
 * Tells whether a claim has expired, or reports so for its current spec. The clock of the process that reported it may
 * be ahead of `now`, and a claim that has reported its expiry must not become Ready again.
 */
export function isExpired(claim: SandboxClaim, now: number): boolean {
  const time = expiryTime(claim);
  const ready = findCondition(claim.status?.conditions, "Ready");
  // Without a generation, the report may be of a spec from before the expiry was put off.
  const isReported = isPublished(claim, "ClaimExpired") && ready?.observedGeneration !== undefined;
  return time !== undefined && (time <= now || isReported);
}

/** The fields of an object that show its expiry. */
export interface Expiring {
  metadata: ObjectMeta;
  status?: { conditions?: Condition[] | undefined } | undefined;
}

/**
 * Tells whether the status reports the expiry for the current spec. If the spec has changed since then, the expiry may
 * have been put off.
 */
export function isPublished({ metadata, status }: Expiring, reason: "ClaimExpired" | "SandboxExpired"): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "False" || ready.reason !== reason) return false;
  return ready.observedGeneration === undefined || ready.observedGeneration === metadata.generation;
}

/** When a Sandbox ends, and what happens then. */
export interface Lifetime {
  /** RFC 3339; absent: the Sandbox never ends. */
  shutdownTime?: string | undefined;
  shutdownPolicy?: string | undefined;
}

/** The fields of a Sandbox that decide when it ends. */
export interface Ending {
  metadata: Pick<ObjectMeta, "uid" | "generation" | "annotations">;
  spec: Lifetime & { operatingMode?: string | undefined };
}

/** Returns the annotation that a router sets when it gives a Sandbox that was suspended for long a `shutdownTime`. */
export function idleExpiryText({ metadata, spec }: Ending, shutdownTime: string): string {
  const { uid = "", generation = 0 } = metadata;
  const before = { shutdownTime: spec.shutdownTime, shutdownPolicy: spec.shutdownPolicy };
  return JSON.stringify({ uid, generation: generation + 1, shutdownTime, before });
}

/**
 * Returns the end that a Sandbox had before a router let it expire for being idle, if this expiry does not count any
 * more. This is so if the Sandbox runs, if its spec has changed since then, or if the annotation is of another Sandbox:
 * this one is a copy of it, or was restored from a backup. Undefined: no router has set the end, or its expiry still
 * counts.
 */
export function calledOff({ metadata, spec }: Ending): Lifetime | undefined {
  const expiry = idleExpiryOf(metadata.annotations?.[EXPIRED_ANNOTATION]);
  if (!expiry || expiry.shutdownTime !== spec.shutdownTime) return undefined;
  const isAsItWas = expiry.uid === metadata.uid && metadata.generation === expiry.generation;
  return isAsItWas && spec.operatingMode === "Suspended" ? undefined : expiry.before;
}

/** The value of the annotation; `before` is the end that the Sandbox had before. */
interface IdleExpiry {
  uid: string;
  generation: number;
  shutdownTime: string;
  before: Lifetime;
}

/** Reads the text of {@link idleExpiryText}; undefined: it is absent, or somebody else has written it. */
function idleExpiryOf(text: string | undefined): IdleExpiry | undefined {
  const value = readJson(text);
  if (!isObject(value) || !isObject(value["before"])) return undefined;
  const { uid, generation, shutdownTime } = value;
  if (typeof uid !== "string" || typeof generation !== "number" || typeof shutdownTime !== "string") return undefined;
  const { shutdownTime: time, shutdownPolicy } = value["before"];
  if (!isTextOrAbsent(time) || !isTextOrAbsent(shutdownPolicy)) return undefined;
  return { uid, generation, shutdownTime, before: { shutdownTime: time, shutdownPolicy } };
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

/**
 * Returns when a Sandbox ends, and what happens then. Its spec decides, unless an idle expiry was {@link calledOff}.
 */
export function lifetimeOf(sandbox: Ending): Lifetime {
  return calledOff(sandbox) ?? sandbox.spec;
}
