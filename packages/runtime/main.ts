/** The entry point of the runtime: `node packages/runtime/main.ts`. @module */
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createLog } from "../process/log.ts";
import { helpOf } from "../process/flaghelp.ts";
import { exit, runProcess } from "../process/runprocess.ts";
import { readOptions, RUNTIME } from "./options.ts";
import { serveForParent, startRuntime } from "./start.ts";
import { writeDerivedToken } from "./token.ts";
import { isUserRuntime } from "./users/userruntime.ts";

const isOfParent = isUserRuntime();

await runProcess(helpOf(RUNTIME), readOptions, async (options, signal) => {
  const { deriveTokenFrom, podUid, tokenFile } = options;
  if (deriveTokenFrom !== undefined) return await writeDerivedToken(deriveTokenFrom, podUid, tokenFile);
  const log = createLog(options.logLevel);
  if (isOfParent) {
    await serveForParent(options, log, signal);
    return exit(0);
  }
  const runtime = await startRuntime(options, log, fileURLToPath(import.meta.url));
  if (!signal.aborted) await once(signal, "abort");
  await runtime.stop();
});
