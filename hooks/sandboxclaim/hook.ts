/** The SandboxClaim hook as a value: what a server mounts. @module */
import { sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { CLAIM_CONTROLLER } from "../../packages/api/objects/keys.ts";
import { decoratorCalls, type HookCalls } from "../../packages/webhook/hook.ts";
import { syncSandboxClaim } from "./sync.ts";
import { childRules } from "./childrules.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { evidence, parentRules, statusRules } from "./statusrules.ts";
import type { ClaimConfig } from "../flags.ts";

/** Makes the hook for one installation. @param decide replaces the hook's decision; tests check that the guard refuses it */
export function sandboxClaimHook(config: ClaimConfig, decide = syncSandboxClaim): HookCalls {
  return decoratorCalls({
    type: "decorator",
    name: CLAIM_CONTROLLER,
    parentSchema: sandboxClaimSchema,
    deletionReasons,
    childRules,
    evidence,
    statusRules,
    parentRules,
    sync: (observed, now) => decide(observed, now, config),
  });
}
