/** The Sandbox hook as a process: `deno run --allow-net=0.0.0.0:8080 hooks/sandbox/main.ts`. @module */
import { runHook } from "../../packages/webhook/runhook.ts";
import { sandboxHook } from "./hook.ts";
import { OPTIONS } from "./options.ts";

await runHook("sandbox", OPTIONS, sandboxHook);
