/** Runs the Sandbox hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandbox/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { HOOK_FLAGS, SANDBOX_FLAGS } from "../flags.ts";
import { sandboxHook } from "./hook.ts";

await runHook("sandbox", SANDBOX_FLAGS, HOOK_FLAGS, sandboxHook);
