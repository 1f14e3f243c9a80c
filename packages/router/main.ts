/** The router as a process: `node packages/router/main.ts --kubeconfig F --port P --authz-mode allow-all`. @module */
import { runProcess } from "../process/runprocess.ts";
import { HELP } from "./options/help.ts";
import { readOptions } from "./options/options.ts";
import { runRouter } from "./run.ts";

await runProcess(HELP, readOptions, runRouter);
