/** The SandboxWarmPool hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxwarmpool/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { sandboxWarmPoolHookModule } from "./hook.ts";

await runHook(sandboxWarmPoolHookModule);
