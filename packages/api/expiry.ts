/** When a claim expires, and whether it says so: one rule for its hook, which says it, and for the keeper, which deletes. Pure. @module */
import * as z from "zod";
import type { SandboxClaim } from "./sandboxclaim.ts";
import { type Condition, findCondition } from "./objects/conditions.ts";
import { readJson } from "./objects/json.ts";
import type { ObjectMeta } from "./objects/objects.ts";
import { EXPIRED_ANNOTATION } from "./router/annotations.ts";

/**
 * Returns when a claim expires, in milliseconds since the epoch; undefined: never, as far as is known.
 *
 * It is the earlier of `shutdownTime` and `ttlSecondsAfterFinished` after the claim's own Finished condition turned True.
 * A time that cannot be read never comes. Source: Agent Sandbox API, section 3.5.6.
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

/** Tells whether a claim has expired. The moment itself counts as past. @param now in milliseconds since the epoch */
export function hasExpired(claim: SandboxClaim, now: number): boolean {
  return (expiryTime(claim) ?? Infinity) <= now;
}

/** What may expire: as much of it as says so. */
export interface Expiring {
  metadata: ObjectMeta;
  status?: { conditions?: Condition[] | undefined } | undefined;
}

/** Tells whether the hook has published the expiry, and of this spec: who has changed that since may have put it off. */
export function isPublished({ metadata, status }: Expiring, reason: "ClaimExpired" | "SandboxExpired"): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "False" || ready.reason !== reason) return false;
  return ready.observedGeneration === undefined || ready.observedGeneration === metadata.generation;
}

/** When a Sandbox ends, and what happens then. */
export interface Lifetime {
  /** RFC 3339; absent: never. */
  shutdownTime?: string | undefined;
  shutdownPolicy?: string | undefined;
}

const idleExpirySchema = z.object({
  uid: z.string(),
  generation: z.number(),
  shutdownTime: z.string(),
  before: z.object({ shutdownTime: z.string().optional(), shutdownPolicy: z.string().optional() }),
});

/** The fields of a Sandbox that decide when it ends. */
export interface Ending {
  metadata: Pick<ObjectMeta, "uid" | "generation" | "annotations">;
  spec: Lifetime & { operatingMode?: string | undefined };
}

/** Returns the annotation that a router sets together with the `shutdownTime` of a Sandbox that was suspended for long. */
export function idleExpiryText({ metadata, spec }: Ending, shutdownTime: string): string {
  const { uid = "", generation = 0 } = metadata;
  const before = { shutdownTime: spec.shutdownTime, shutdownPolicy: spec.shutdownPolicy };
  return JSON.stringify({ uid, generation: generation + 1, shutdownTime, before });
}

/**
 * Returns the end that a Sandbox had before a router let it expire for being idle, if that expiry does not count: the
 * Sandbox runs, anybody has changed its spec since, or the router meant another Sandbox, of which this one is a copy or which
 * a backup has restored. Undefined: no router has set the end, or its expiry still counts.
 */
export function calledOff({ metadata, spec }: Ending): Lifetime | undefined {
  const { data } = idleExpirySchema.safeParse(readJson(metadata.annotations?.[EXPIRED_ANNOTATION]));
  const isOfRouter = data !== undefined && data.shutdownTime === spec.shutdownTime;
  if (!isOfRouter) return undefined;
  const isAsItWas = data.uid === metadata.uid && metadata.generation === data.generation;
  return isAsItWas && spec.operatingMode === "Suspended" ? undefined : data.before;
}

/** Returns when a Sandbox ends, and what happens then: as its spec says, unless an idle expiry was {@link calledOff}. */
export function lifetimeOf(sandbox: Ending): Lifetime {
  return calledOff(sandbox) ?? sandbox.spec;
}
