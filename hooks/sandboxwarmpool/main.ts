/** The SandboxWarmPool hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxwarmpool/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { sandboxWarmPoolHook } from "./hook.ts";
import { OPTIONS } from "./options.ts";

await runHook("sandboxwarmpool", OPTIONS, sandboxWarmPoolHook);
