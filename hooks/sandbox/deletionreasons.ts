/** The reasons why a Sandbox may lose a child, and how the guard checks that each reason is true. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import type { DeletionReasons } from "../../packages/webhook/guard.ts";

export const EXPIRED = "the Sandbox has expired";
export const SUSPENDED = "the Sandbox is suspended";
export const NO_SERVICE = "spec.service is false";

/**
 * An expiry counts against the deletion budget, because a wrong clock would end all Sandboxes at once. A deletion that
 * the spec asks for does not count: a suspension, or `service: false`.
 */
export const deletionReasons: DeletionReasons<Sandbox> = {
  [EXPIRED]: {
    holds: ({ kind }, { parent }, now) => ["Pod", "Service"].includes(kind) && isExpired(parent, now),
  },
  [SUSPENDED]: {
    holds: ({ kind }, { parent }) => kind === "Pod" && parent.spec.operatingMode === "Suspended",
    stated: () => 1,
  },
  [NO_SERVICE]: {
    holds: ({ kind }, { parent }) => kind === "Service" && parent.spec.service === false,
    stated: () => 1,
  },
};

/** Tells the guard whether a Sandbox has expired. A `shutdownTime` that is not a valid time never expires. */
export function isExpired(sandbox: Sandbox, now: Date): boolean {
  return Date.parse(lifetimeOf(sandbox).shutdownTime ?? "") <= now.getTime();
}
