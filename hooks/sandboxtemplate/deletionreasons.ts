/** The reason why a template may lose its NetworkPolicy, and how the guard checks that it is true. @module */
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import type { DeletionReasons } from "../../packages/webhook/guard.ts";

export const UNMANAGED = "networkPolicyManagement is Unmanaged";

export const deletionReasons: DeletionReasons<SandboxTemplate> = {
  [UNMANAGED]: { holds: (_, { parent }) => parent.spec.networkPolicyManagement === "Unmanaged", stated: () => 1 },
};
