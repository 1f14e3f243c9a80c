/** The Sandbox hook as a value: what a server mounts. @module */
import { sandboxSchema } from "../../api/sandbox.ts";
import { compositeCalls, type HookCalls } from "../../lib/hook.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { startSpacing } from "./spacing.ts";
import { type SandboxConfig, syncSandbox } from "./sync.ts";

/** Makes the hook for one installation. */
export function sandboxHook(config: SandboxConfig): HookCalls {
  return compositeCalls({
    type: "composite",
    name: "sandbox",
    parentSchema: sandboxSchema,
    deletionReasons,
    spacing: startSpacing,
    sync: (observed, now) => syncSandbox(observed, now, config),
  });
}
