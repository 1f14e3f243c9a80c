/** Runs the keeper as a process: `node packages/keeper/main.ts`, in a cluster, or elsewhere with `--kubeconfig F`. @module */
import { helpOf } from "../process/flaghelp.ts";
import { runProcess } from "../process/runprocess.ts";
import { KEEPER, readOptions } from "./options.ts";
import { runKeeper } from "./run.ts";

await runProcess(helpOf(KEEPER), readOptions, runKeeper);
