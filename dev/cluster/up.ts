/** `npm run up`: starts a local cluster that stays up. If one is already up, reports this. @module */
import process from "node:process";
import { parseArgs } from "node:util";
import { localCRDs } from "../crds.ts";
import { type Cluster, environmentOf, findCluster, nextSteps, startCluster } from "./cluster.ts";
import { importRuntimeImage } from "./runtimeimage.ts";
import { STATE_FOLDER } from "./state.ts";

const HELP = `Starts a local Kubernetes cluster that stays up until "npm run down".

Usage: npm run up -- [options]

  --nodes auto|real|simulated|none  auto (default): a real node where this machine allows it, else simulated ones
  --simulated-nodes N               how many simulated nodes; default 32, with a real node 0
  --network-policies                the real node enforces NetworkPolicies, for IPv4
  --help                            this text
`;

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      "nodes": { type: "string", default: "auto" },
      "simulated-nodes": { type: "string" },
      "network-policies": { type: "boolean", default: false },
      "help": { type: "boolean", default: false },
    },
  });
  if (values.help) return say(HELP), 0;
  const nodes = nodesOf(values.nodes);
  const simulatedNodes = values["simulated-nodes"] === undefined
    ? {}
    : { simulatedNodes: countOf(values["simulated-nodes"]) };
  const running = findCluster(STATE_FOLDER);
  if (running) {
    say(`The cluster is up already (nodes: ${running.nodes}).`);
    return sayWhatNext(running), 0;
  }
  const abort = new AbortController();
  const interrupt = () => abort.abort(new Error("Interrupted; what had been started is cleared away."));
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  const options = {
    stateDir: STATE_FOLDER,
    nodes,
    ...simulatedNodes,
    networkPolicies: values["network-policies"],
    detached: true,
    crds: localCRDs(),
    progress: say,
  };
  const cluster = await startCluster({ ...options, signal: abort.signal });
  if (cluster.nodes === "real") await importRuntime(abort.signal);
  sayWhatNext(cluster);
  return 0;
}

/** Imports the image for examples/python.yaml. Without the image, everything else works. */
async function importRuntime(signal: AbortSignal): Promise<void> {
  await importRuntimeImage(STATE_FOLDER, { progress: say, signal }).catch((error: Error) =>
    say(`The cluster is up without the image of the runtime: ${error.message}`)
  );
}

function nodesOf(text: string): "auto" | "real" | "simulated" | "none" {
  if (text === "auto" || text === "real" || text === "simulated" || text === "none") return text;
  throw new RangeError(`Cannot start nodes "${text}": --nodes takes auto, real, simulated or none`);
}

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0 && count <= 5000) return count;
  throw new RangeError(`Cannot start "${text}" simulated nodes: --simulated-nodes takes a whole number up to 5000`);
}

function sayWhatNext(cluster: Cluster): void {
  if (cluster.whyNotReal) say(cluster.whyNotReal);
  const indented = (text: string) => text.replaceAll(/^/gm, "  ");
  say(`
${indented(environmentOf(cluster))}

Then, to run sandboxes in it, type the first three commands each in a terminal of its own, the others in a fourth:

${indented(nextSteps(cluster))}

"npm run down" stops the cluster and deletes its data.`);
}

main().then((code) => process.exitCode = code, (error: Error) => {
  process.stdout.write(`${error.message}\n`);
  process.exitCode = 1;
});
