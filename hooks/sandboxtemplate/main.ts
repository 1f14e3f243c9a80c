/** The SandboxTemplate hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxtemplate/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { sandboxTemplateHook } from "./hook.ts";
import { OPTIONS } from "./options.ts";

await runHook("sandboxtemplate", OPTIONS, sandboxTemplateHook);
