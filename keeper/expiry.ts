/** Which Sandboxes have expired and are to be deleted. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { findCondition } from "../lib/conditions.ts";

/** What to do about the expiry of a Sandbox; `until` is in milliseconds since the epoch. */
export type ExpiryVerdict = { verdict: "keep" } | { verdict: "wait"; until: number } | { verdict: "delete" };

/**
 * Decides whether a Sandbox is deleted because it has expired: what the hook has published and the spec both say so.
 *
 * | published: Ready is SandboxExpired, of this generation | policy | shutdownTime by this clock | verdict |
 * |---|---|---|---|
 * | no | any | any | keep |
 * | yes | Retain | any | keep |
 * | yes | Delete | ahead: our clock is behind the hook's | wait |
 * | yes | Delete | past | delete |
 * | yes | Delete | absent, or no time | keep |
 *
 * One that is being deleted is kept, too: somebody else was first.
 */
export function expiryVerdict(sandbox: Sandbox, now: number): ExpiryVerdict {
  const { metadata, spec } = sandbox;
  if (metadata.deletionTimestamp !== undefined || spec.shutdownPolicy !== "Delete" || !isPublished(sandbox)) {
    return { verdict: "keep" };
  }
  const until = Date.parse(spec.shutdownTime ?? "");
  if (Number.isNaN(until)) return { verdict: "keep" };
  return until > now ? { verdict: "wait", until } : { verdict: "delete" };
}

/** Tells whether the hook has published the expiry, and of this spec: another one may have changed its mind. */
export function isPublished({ metadata, status }: Sandbox): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.reason !== "SandboxExpired") return false;
  return ready.observedGeneration === undefined || ready.observedGeneration === metadata.generation;
}
