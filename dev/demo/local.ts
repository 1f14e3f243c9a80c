/**
 * Opens the demo's stage on a cluster of its own. If nodes run no containers, hookbox runs as local processes. @module
 */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, environmentOf, startCluster } from "../cluster/cluster.ts";
import { saveCluster } from "../cluster/notes.ts";
import { endGently, type ProcessRecord } from "../cluster/processes.ts";
import { readRecord, STATE_FOLDER } from "../cluster/state.ts";
import { localCRDs } from "../crds.ts";
import { installation } from "./installation.ts";
import { COPY, LOGS, ROOT } from "./parts.ts";
import { processes } from "./processes.ts";
import type { Stage } from "./stage.ts";
import { chapter, held, makeShell, note, output } from "./terminal.ts";

const COPIED = ["packages", "hooks", "package.json", "tsconfig.json", "deno.json"];
const SIMULATED = "The nodes are simulated: no container runs that could answer.";

/** Starts the cluster. The chapters start everything else. */
export async function openLocalStage(signal: AbortSignal): Promise<Stage> {
  chapter("A Kubernetes of our own");
  const options = { stateDir: STATE_FOLDER, nodes: "auto", networkPolicies: true, crds: localCRDs() } as const;
  const cluster = await startCluster({ ...options, progress: output, signal });
  for (const folder of [COPY, LOGS]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const isSource = (path: string) => !/\/(dist|node_modules)$/.test(path);
  for (const name of COPIED) cpSync(join(ROOT, name), join(COPY, name), { recursive: true, filter: isSource });
  const shell = makeShell(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig], signal);
  const parts = (cluster.nodes === "real" ? installation : processes)(cluster, shell, signal);
  held(`kube-apiserver answers, and there is a ${cluster.nodes} node`);
  if (cluster.whyNotReal) note(cluster.whyNotReal);
  return {
    where: { kubeconfig: cluster.kubeconfig, namespace: "default" },
    shell,
    parts,
    missing: cluster.nodes === "real" ? {} : { containers: SIMULATED },
    leave: async ({ keep, failed }) => {
      chapter(keep ? "Everything keeps running" : "Stop everything");
      if (keep) {
        handOver(cluster, parts.localProcesses());
        return output(`${environmentOf(cluster)}\nnpm run down`);
      }
      if (failed) await parts.keepLogs();
      await Promise.all(parts.localProcesses().map(endGently));
      await cluster.stop();
      rmSync(COPY, { recursive: true, force: true });
      held("nothing is left running");
      if (failed) note("The logs of hooks, Metacontroller and keeper are in .hookbox/demo-logs.");
    },
  };
}

/** Adds the demo's processes to the cluster's record, so that `npm run down` ends them. */
function handOver(cluster: Cluster, processes: ProcessRecord[]): void {
  const record = readRecord(cluster.stateDir);
  if (!record) throw new Error(`Cannot leave the cluster running: ${cluster.stateDir} has no record of it`);
  saveCluster(cluster.stateDir, { ...record, owner: undefined, processes: [...record.processes, ...processes] });
}
