/** The keeper as a process: `node packages/keeper/main.ts --kubeconfig F`; without the flag, the cluster it runs in. @module */
import { buildPod } from "../../hooks/sandbox/pod.ts";
import { buildPVCs } from "../../hooks/sandbox/pvcs.ts";
import { buildService } from "../../hooks/sandbox/service.ts";
import { policyName } from "../../hooks/sandboxtemplate/networkpolicy.ts";
import { runProcess } from "../process/runprocess.ts";
import { HELP, readOptions } from "./options.ts";
import { runKeeper } from "./run.ts";

const builders = { buildPod, buildPVCs, buildService, policyName };

await runProcess(HELP, readOptions, (options, signal) => runKeeper(options, builders, signal));
