/** The SandboxClaim hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxclaim/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { sandboxClaimHook } from "./hook.ts";
import { OPTIONS } from "./options.ts";

await runHook("sandboxclaim", OPTIONS, sandboxClaimHook);
