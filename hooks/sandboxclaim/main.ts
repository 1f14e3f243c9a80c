/** Runs the SandboxClaim hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandboxclaim/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { CLAIM_FLAGS, HOOK_FLAGS } from "../flags.ts";
import { sandboxClaimHook } from "./hook.ts";

await runHook("sandboxclaim", CLAIM_FLAGS, HOOK_FLAGS, sandboxClaimHook);
