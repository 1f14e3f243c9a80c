/** A stage of our own: a fresh local cluster, and the hooks, the engine and the keeper of one checkout. @module */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { PODS_PER_NODE } from "../../dev/cluster/kwokconfig.ts";
import { endGently, type ProcessRecord } from "../../dev/cluster/processes.ts";
import { importRuntimeImage } from "../../dev/cluster/runtimeimage.ts";
import { readRecord } from "../../dev/cluster/state.ts";
import type { StartedMetacontroller } from "../../dev/metacontroller/start.ts";
import { commandRunner } from "../load/command.ts";
import { prepareAudit } from "../measure/audit.ts";
import { startProfiler } from "../measure/profiles.ts";
import { connectLoad, loadProcess } from "../load/connection.ts";
import { SandboxClient } from "../../sdk/client.ts";
import { startEngines } from "./engines.ts";
import { partOf, startHooks, startKeeper } from "./hooks.ts";
import type { Layout } from "./layout.ts";
import type { Stage } from "./stage.ts";

export interface LocalOptions {
  /** Root of the checkout whose hooks, controllers and keeper run; its packages have to be installed. */
  checkout: string;
  layout: Layout;
  nodes: "simulated" | "real";
  /** Brings the runtime's image onto the real node. */
  runtime: boolean;
  /** Pods that have to find room on simulated nodes. */
  pods: number;
  /** Folder that takes CPU profiles of the measured part; undefined: none are taken. */
  profiles?: string | undefined;
  say: (line: string) => void;
}

/** The scheduler spreads Pods, and some go as others come: a few nodes more than would do. */
const LEAST_NODES = 8;

/** Starts everything; `close` ends it and removes what it wrote. */
export async function openLocal(options: LocalOptions, signal: AbortSignal): Promise<Stage> {
  const { checkout, nodes, say } = options;
  const folder = mkdtempSync(join(tmpdir(), "hookbox-bench-"));
  const ending = new AbortController();
  const started: ProcessRecord[] = [];
  const stops: (() => Promise<unknown>)[] = [() => Promise.resolve(rmSync(folder, { recursive: true, force: true }))];
  const close = async () => {
    ending.abort();
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    mkdirSync(join(folder, "logs"));
    const audit = prepareAudit(folder);
    const profiler = options.profiles === undefined ? undefined : await startProfiler(options.profiles);
    const { localCRDs } = await partOf<typeof import("../../dev/crds.ts")>(checkout, "dev/crds.ts");
    const cluster = await startCluster({
      stateDir: join(folder, "cluster"),
      nodes,
      simulatedNodes: nodes === "simulated" ? LEAST_NODES + Math.ceil(options.pods / PODS_PER_NODE) : 0,
      crds: localCRDs(),
      apiServerArgs: [...audit.apiServerArgs, ...(profiler?.apiServerArgs ?? [])],
      signal,
    });
    stops.push(() => cluster.stop());
    if (options.runtime) await importRuntimeImage(cluster.stateDir, { progress: say, signal });
    // Gently: a process that is killed writes no profile.
    stops.push(() => Promise.all(started.map(endGently)));
    const api = await connectLoad(cluster.kubeconfig, AbortSignal.any([signal, ending.signal]));
    const start = { checkout, layout: options.layout, folder, started, signal, profiler };
    const { urls: hookURLs, urlOf } = await startHooks(start);
    const engines: StartedMetacontroller[] = [];
    stops.push(() => Promise.all(engines.map((engine) => engine.stop())));
    await startEngines(start, cluster, urlOf, engines);
    startKeeper(start, cluster.kubeconfig);
    const engine = engineName(engines);
    say(`${engine}, ${nodes} nodes`);
    return {
      api,
      requests: audit.requests,
      hookURLs,
      processes: [
        ...started,
        ...engines.map(({ pid }, index) => ({ name: index === 0 ? "engine" : `engine ${index + 1}`, pid })),
        ...clusterProcesses(cluster),
        loadProcess(),
      ],
      engine,
      ...(nodes === "real" ? { command: commandRunner(cluster.kubeconfig) } : {}),
      ...(options.runtime ? { sdk: new SandboxClient({ kubeconfig: cluster.kubeconfig }) } : {}),
      ...(profiler ? { profile: () => profiler.take(cluster) } : {}),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function engineName([engine]: StartedMetacontroller[]): string {
  return `${engine?.kind === "real" ? "Metacontroller" : "the stand-in for Metacontroller"} ${engine?.version}`;
}

function clusterProcesses({ stateDir }: Cluster) {
  return (readRecord(stateDir)?.processes ?? []).map(({ name, pid }) => ({ name, pid }));
}
