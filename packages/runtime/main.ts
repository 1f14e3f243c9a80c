/** The entry point of the runtime: `node packages/runtime/main.ts`. @module */
import { once } from "node:events";
import { createLog } from "../process/log.ts";
import { helpOf } from "../process/flaghelp.ts";
import { runProcess } from "../process/runprocess.ts";
import { readOptions, RUNTIME } from "./options.ts";
import { startRuntime } from "./start.ts";
import { writeDerivedToken } from "./token.ts";

await runProcess(helpOf(RUNTIME), readOptions, async (options, signal) => {
  const { deriveTokenFrom, podUid, tokenFile } = options;
  if (deriveTokenFrom !== undefined) return await writeDerivedToken(deriveTokenFrom, podUid, tokenFile);
  const runtime = await startRuntime(options, createLog(options.logLevel));
  if (!signal.aborted) await once(signal, "abort");
  await runtime.stop();
});
