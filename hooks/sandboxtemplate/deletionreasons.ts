/** Why a template loses its NetworkPolicy: the words, and how the guard sees for itself that they are true. @module */
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import type { DeletionReasons } from "../../packages/webhook/guard.ts";

export const UNMANAGED = "networkPolicyManagement is Unmanaged";

export const deletionReasons: DeletionReasons<SandboxTemplate> = {
  [UNMANAGED]: { holds: (_, { parent }) => parent.spec.networkPolicyManagement === "Unmanaged", stated: () => 1 },
};
