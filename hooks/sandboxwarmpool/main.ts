/**
 * Runs the SandboxWarmPool hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxwarmpool/main.ts`.
 * @module
 */
import { runHook } from "../../packages/webhook/runhook.ts";
import { HOOK_FLAGS, WARM_POOL_FLAGS } from "../flags.ts";
import { sandboxWarmPoolHook } from "./hook.ts";

await runHook("sandboxwarmpool", WARM_POOL_FLAGS, HOOK_FLAGS, sandboxWarmPoolHook);
