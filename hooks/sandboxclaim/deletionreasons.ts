/** The reasons why a claim may lose a Sandbox, and how the guard checks that each reason is true. @module */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { expiryTime } from "../../packages/api/expiry.ts";
import type { DeletionReasons } from "../../packages/webhook/guard.ts";
import { listAll } from "../../packages/webhook/metacontroller.ts";

export const EXPIRED = "the claim has expired";
export const ANOTHER = "the claim has another one";

/** The Sandbox that a claim's status names is deleted only because of expiry. */
export const deletionReasons: DeletionReasons<SandboxClaim> = {
  [EXPIRED]: {
    holds: (_, { parent }, now) =>
      parent.spec.lifecycle?.shutdownPolicy === "Retain" && (expiryTime(parent) ?? Infinity) <= now.getTime(),
  },
  [ANOTHER]: {
    holds: ({ metadata }, { parent, children }) => {
      const named = parent.status?.sandbox?.name;
      const isThere = listAll(children).some((child) => child.metadata.name === named);
      return isThere && metadata.name !== named;
    },
  },
};
