/** When a Sandbox expires, and how far that has gone. Two steps: the status says so first, then things are deleted. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { LONGEST_WAIT_SECONDS, SHORTEST_WAIT_SECONDS } from "../../packages/webhook/metacontroller.ts";

/**
 * How far expiry has gone.
 *
 * | phase | meaning | answer |
 * |---|---|---|
 * | `none` | no `shutdownTime`, or it lies ahead | as ever |
 * | `due` | it is past, the status does not say so yet | all children stay, Ready becomes SandboxExpired |
 * | `published` | it is past and the observed status says so | Pod and Service go |
 */
export type ExpiryPhase = "none" | "due" | "published";

/** Tells how far the expiry of a Sandbox has gone. The moment itself counts as past. */
export function expiryPhase(sandbox: Sandbox, now: Date): ExpiryPhase {
  const left = secondsLeft(sandbox, now);
  if (left === undefined || left > 0) return "none";
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  return ready?.status === "False" && ready.reason === "SandboxExpired" ? "published" : "due";
}

/** Returns the seconds until the hook has to look again because time has passed; undefined: never. */
export function resyncAfter(sandbox: Sandbox, now: Date): number | undefined {
  const left = secondsLeft(sandbox, now);
  if (left === undefined || expiryPhase(sandbox, now) === "published") return undefined;
  return Math.min(Math.max(left, SHORTEST_WAIT_SECONDS), LONGEST_WAIT_SECONDS);
}

/** Tells whether there is a `shutdownTime` that is no time: the API server's own check lets a few such texts through. */
export function isTimeUnreadable(sandbox: Sandbox): boolean {
  const { shutdownTime } = lifetimeOf(sandbox);
  return shutdownTime !== undefined && Number.isNaN(Date.parse(shutdownTime));
}

/** An unreadable time never comes: nothing is deleted on a guess. */
function secondsLeft(sandbox: Sandbox, now: Date): number | undefined {
  const { shutdownTime } = lifetimeOf(sandbox);
  if (shutdownTime === undefined || isTimeUnreadable(sandbox)) return undefined;
  return (Date.parse(shutdownTime) - now.getTime()) / 1000;
}
