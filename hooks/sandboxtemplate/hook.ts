/** Defines the SandboxTemplate hook as a value that a server can mount. @module */
import { sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { TEMPLATE_CONTROLLER } from "../../packages/api/objects/keys.ts";
import { decoratorCalls, type HookCalls } from "../../packages/webhook/hook.ts";
import { childRules, parentRules, statusRules } from "./childrules.ts";
import { deletionReasons } from "./deletionreasons.ts";
import type { TemplateConfig } from "../flags.ts";
import { customizeSandboxTemplate, syncSandboxTemplate } from "./sync.ts";

/**
 * Creates the hook for one installation. @param decide replaces the hook's decision; tests check that the guard refuses
 * it
 */
export function sandboxTemplateHook(config: TemplateConfig, decide = syncSandboxTemplate): HookCalls {
  return decoratorCalls({
    type: "decorator",
    name: TEMPLATE_CONTROLLER,
    parentSchema: sandboxTemplateSchema,
    deletionReasons,
    childRules: childRules(config),
    parentRules,
    statusRules,
    customize: customizeSandboxTemplate,
    sync: (observed) => decide(observed, config),
  });
}
