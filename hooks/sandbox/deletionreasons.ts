/** Why a Sandbox loses a child: the words, and how the guard sees for itself that they are true. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import type { DeletionReasons } from "../../packages/webhook/guard.ts";

export const EXPIRED = "the Sandbox has expired";
export const SUSPENDED = "the Sandbox is suspended";
export const NO_SERVICE = "spec.service is false";

/** A clock that is wrong ends everything at once: expiry counts as a loss, what the spec says in so many words does not. */
export const deletionReasons: DeletionReasons<Sandbox> = {
  [EXPIRED]: {
    holds: ({ kind }, { parent }, now) =>
      ["Pod", "Service"].includes(kind) && Date.parse(lifetimeOf(parent).shutdownTime ?? "") <= now.getTime(),
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
