/** The Sandbox hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandbox/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { sandboxHookModule } from "./hook.ts";

await runHook(sandboxHookModule);
