/** Runs the server of E2B's API as a process: `node packages/e2b/main.ts`, in a Pod or with `--kubeconfig F`. @module */
import { helpOf } from "../process/flaghelp.ts";
import { runProcess } from "../process/runprocess.ts";
import { E2B, readOptions } from "./options.ts";
import { runE2B } from "./run.ts";

await runProcess(helpOf(E2B), readOptions, runE2B);
