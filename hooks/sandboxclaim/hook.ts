/** The SandboxClaim hook as a value: what a server mounts. @module */
import { sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { CLAIM_CONTROLLER } from "../../packages/api/objects/keys.ts";
import { decoratorCalls, type HookCalls } from "../../packages/webhook/hook.ts";
import { syncSandboxClaim } from "./sync.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { evidence } from "./evidence.ts";
import type { ClaimConfig } from "./options.ts";

/** Makes the hook for one installation. */
export function sandboxClaimHook(config: ClaimConfig): HookCalls {
  return decoratorCalls({
    type: "decorator",
    name: CLAIM_CONTROLLER,
    parentSchema: sandboxClaimSchema,
    deletionReasons,
    evidence,
    sync: (observed, now) => syncSandboxClaim(observed, now, config),
  });
}
