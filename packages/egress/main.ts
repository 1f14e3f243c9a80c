/** Runs the egress policy as a process: `node packages/egress/main.ts`, in a Pod with the proxy, or with `--kubeconfig F`. @module */
import { helpOf } from "../process/flaghelp.ts";
import { runProcess } from "../process/runprocess.ts";
import { EGRESS, readOptions } from "./options.ts";
import { runEgress } from "./run.ts";

await runProcess(helpOf(EGRESS), readOptions, runEgress);
