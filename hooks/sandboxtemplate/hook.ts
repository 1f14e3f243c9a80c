/** The SandboxTemplate hook as a value: what a server mounts. @module */
import { sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { TEMPLATE_CONTROLLER } from "../../packages/api/objects/keys.ts";
import { decoratorCalls, type HookCalls } from "../../packages/webhook/hook.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { syncSandboxTemplate } from "./sync.ts";

/** Makes the hook; it has nothing to configure. */
export function sandboxTemplateHook(): HookCalls {
  return decoratorCalls({
    type: "decorator",
    name: TEMPLATE_CONTROLLER,
    parentSchema: sandboxTemplateSchema,
    deletionReasons,
    sync: syncSandboxTemplate,
  });
}
