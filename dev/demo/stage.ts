/**
 * Starts the cluster for the demo with hookbox in it, and defines what the chapters share. If nodes run no containers,
 * hookbox runs as local processes. @module
 */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { saveCluster } from "../cluster/notes.ts";
import { endGently, type ProcessRecord } from "../cluster/processes.ts";
import { readRecord, STATE_FOLDER } from "../cluster/state.ts";
import { localCRDs } from "../crds.ts";
import { installation } from "./installation.ts";
import { COPY, LOGS, type Parts, ROOT, type RouterPlace } from "./parts.ts";
import { processes } from "./processes.ts";
import { makeShell, note, output, type Shell } from "./terminal.ts";

const COPIED = ["packages", "hooks", "package.json", "tsconfig.json", "deno.json"];

/** The cluster and hookbox, and how to end them. */
export interface Stage {
  cluster: Cluster;
  shell: Shell;
  parts: Parts;
  /** Absent until a chapter has used it. */
  router?: RouterPlace;
  /** Ends everything, or leaves it running for `npm run down`. */
  leave(how: { keep: boolean; failed: boolean }): Promise<void>;
}

/** Paths of conditions, for `shell.until`. */
export const READY = '.status.conditions[?(@.type=="Ready")].status';

export const SUSPENDED = '.status.conditions[?(@.type=="Suspended")].status';

/** The data that chapters share. */
export interface Story {
  stage: Stage;
  shell: Shell;
}

/** One chapter: its title, and what it does. */
export interface Chapter {
  title: string;
  play(story: Story): Promise<void>;
}

const SIMULATED = "The nodes are simulated: there is no container that could answer a request.";

/** Starts the cluster. The chapters start everything else. */
export async function openStage(signal: AbortSignal): Promise<Stage> {
  const options = { stateDir: STATE_FOLDER, nodes: "auto", networkPolicies: true, crds: localCRDs() } as const;
  const cluster = await startCluster({ ...options, progress: output, signal });
  for (const folder of [COPY, LOGS]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const isSource = (path: string) => !/\/(dist|node_modules)$/.test(path);
  for (const name of COPIED) cpSync(join(ROOT, name), join(COPY, name), { recursive: true, filter: isSource });
  const shell = makeShell(cluster.kubectl, cluster.kubeconfig, signal);
  const parts = (cluster.nodes === "real" ? installation : processes)(cluster, shell, signal);
  return {
    cluster,
    shell,
    parts,
    leave: async ({ keep, failed }) => {
      if (keep) return handOver(cluster, parts.localProcesses());
      if (failed) await parts.keepLogs();
      await Promise.all(parts.localProcesses().map(endGently));
      await cluster.stop();
      rmSync(COPY, { recursive: true, force: true });
    },
  };
}

/** Adds the demo's processes to the cluster's record, so that `npm run down` ends them. */
function handOver(cluster: Cluster, processes: ProcessRecord[]): void {
  const record = readRecord(cluster.stateDir);
  if (!record) throw new Error(`Cannot leave the cluster running: ${cluster.stateDir} has no record of it`);
  saveCluster(cluster.stateDir, { ...record, owner: undefined, processes: [...record.processes, ...processes] });
}

/** Plays a chapter only if nodes run containers. If they do not, it prints why not. */
export function onRealNodes(play: Chapter["play"]): Chapter["play"] {
  return async (story) => story.stage.cluster.nodes === "real" ? await play(story) : note(SIMULATED);
}
