/**
 * Entry point of the router process: `node packages/router/main.ts --kubeconfig F --port P --authz-mode allow-all`.
 * @module
 */
import { runProcess } from "../process/runprocess.ts";
import { helpOf } from "../process/flaghelp.ts";
import { readOptions, ROUTER } from "./options.ts";
import { runRouter } from "./run.ts";

await runProcess(helpOf(ROUTER), readOptions, runRouter);
