/**
 * Runs the SandboxTemplate hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxtemplate/main.ts`.
 * @module
 */
import { runHook } from "../../packages/webhook/runhook.ts";
import { HOOK_FLAGS, TEMPLATE_FLAGS } from "../flags.ts";
import { sandboxTemplateHook } from "./hook.ts";

await runHook("sandboxtemplate", TEMPLATE_FLAGS, HOOK_FLAGS, sandboxTemplateHook);
