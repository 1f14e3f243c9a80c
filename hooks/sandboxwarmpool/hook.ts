/** The SandboxWarmPool hook as a value: what a server mounts. @module */
import { sandboxWarmPoolSchema } from "../../api/sandboxwarmpool.ts";
import { compositeCalls, type HookCalls } from "../../lib/hook.ts";
import type { WarmPoolConfig } from "./config.ts";
import { answerSpacing } from "./spacing.ts";
import { customizeSandboxWarmPool } from "./customize.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { syncSandboxWarmPool } from "./sync.ts";

/** Makes the hook for one installation. */
export function sandboxWarmPoolHook(config: WarmPoolConfig): HookCalls {
  return compositeCalls({
    type: "composite",
    name: "sandboxwarmpool",
    parentSchema: sandboxWarmPoolSchema,
    deletionReasons,
    customize: customizeSandboxWarmPool,
    spacing: (request) => answerSpacing(request, config),
    sync: (observed, now) => syncSandboxWarmPool(observed, now, config),
  });
}
