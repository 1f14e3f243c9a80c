/**
 * Computes when a Sandbox expires. Expiry has two steps: the status reports it first, then the children are deleted.
 * @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { LONGEST_WAIT_SECONDS, SHORTEST_WAIT_SECONDS } from "../../packages/webhook/metacontroller.ts";

/**
 * How far the expiry of a Sandbox has come.
 *
 * | phase | meaning | answer |
 * |---|---|---|
 * | `none` | there is no `shutdownTime`, or it is in the future | no effect |
 * | `due` | it is in the past, and the status does not report it yet | all children stay, Ready becomes SandboxExpired |
 * | `published` | it is in the past, and the observed status reports it | Pod and Service are deleted |
 */
export type ExpiryPhase = "none" | "due" | "published";

/** Returns the expiry phase of a Sandbox. At `shutdownTime` itself, the Sandbox has expired. */
export function expiryPhase(sandbox: Sandbox, now: Date): ExpiryPhase {
  const left = secondsLeft(sandbox, now);
  if (left === undefined || left > 0) return "none";
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  return ready?.status === "False" && ready.reason === "SandboxExpired" ? "published" : "due";
}

/** Returns after how many seconds the hook must be called again because of the expiry; undefined: never. */
export function resyncAfter(sandbox: Sandbox, now: Date): number | undefined {
  const left = secondsLeft(sandbox, now);
  if (left === undefined || expiryPhase(sandbox, now) === "published") return undefined;
  return Math.min(Math.max(left, SHORTEST_WAIT_SECONDS), LONGEST_WAIT_SECONDS);
}

/** Tells whether `shutdownTime` is set but is not a valid time. The API server's own check accepts a few such texts. */
export function isTimeUnreadable(sandbox: Sandbox): boolean {
  const { shutdownTime } = lifetimeOf(sandbox);
  return shutdownTime !== undefined && Number.isNaN(Date.parse(shutdownTime));
}

/**
 * Returns the seconds until the expiry. If the time is not valid, the Sandbox never expires: the hook deletes nothing
 * on a guess.
 */
function secondsLeft(sandbox: Sandbox, now: Date): number | undefined {
  const { shutdownTime } = lifetimeOf(sandbox);
  if (shutdownTime === undefined || isTimeUnreadable(sandbox)) return undefined;
  return (Date.parse(shutdownTime) - now.getTime()) / 1000;
}
