/** The SandboxClaim hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxclaim/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { sandboxClaimHookModule } from "./hook.ts";

await runHook(sandboxClaimHookModule);
