/** A stage of our own: a fresh local cluster, and the hooks, the engine and the keeper of one checkout. @module */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { untilAnswering } from "../../dev/answering.ts";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { PODS_PER_NODE } from "../../dev/cluster/kwokconfig.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { endGently, type ProcessRecord, startProcess } from "../../dev/cluster/processes.ts";
import { readRecord } from "../../dev/cluster/state.ts";
import { startMetacontroller } from "../../dev/metacontroller/start.ts";
import { commandRunner } from "../load/command.ts";
import { prepareAudit } from "../measure/audit.ts";
import { type Profiler, startProfiler } from "../measure/profiles.ts";
import { connectLoad, loadProcess } from "../load/connection.ts";
import type { Stage } from "./stage.ts";

export interface LocalOptions {
  /** Root of the checkout whose hooks, controllers and keeper run; its packages have to be installed. */
  checkout: string;
  nodes: "simulated" | "real";
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
    // Gently: a process that is killed writes no profile.
    stops.push(() => Promise.all(started.map(endGently)));
    const api = await connectLoad(cluster.kubeconfig, AbortSignal.any([signal, ending.signal]));
    const hookURLs = await startHooks({ checkout, folder, started, cluster, signal }, profiler);
    const engine = await startMetacontroller({
      kubeconfig: cluster.kubeconfig,
      logFile: join(folder, "logs/engine.log"),
      progress: () => {},
      // Looking for new kinds every second, as tests want it, would be counted.
      flags: ["--discovery-interval=20s", ...(profiler?.engineArgs ?? [])],
    });
    stops.push(() => engine.stop());
    const keeperArgs = [join(checkout, "keeper/main.ts"), "--kubeconfig", cluster.kubeconfig, "--no-leader-election"];
    const keeper = startNode("keeper", keeperArgs, folder, profiler);
    started.push(keeper);
    say(`${engine.kind === "real" ? "Metacontroller" : "the stand-in"} ${engine.version}, ${nodes} nodes`);
    return {
      api,
      requests: audit.requests,
      hookURLs,
      processes: [
        ...started,
        { name: "engine", pid: engine.pid },
        ...clusterProcesses(cluster),
        loadProcess(),
      ],
      engine: `${engine.kind === "real" ? "Metacontroller" : "the stand-in for Metacontroller"} ${engine.version}`,
      ...(nodes === "real" ? { command: commandRunner(cluster.kubeconfig) } : {}),
      ...(profiler ? { profile: () => profiler.take(cluster) } : {}),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function clusterProcesses({ stateDir }: Cluster) {
  return (readRecord(stateDir)?.processes ?? []).map(({ name, pid }) => ({ name, pid }));
}

interface HookStart {
  checkout: string;
  folder: string;
  started: ProcessRecord[];
  cluster: Cluster;
  signal: AbortSignal;
}

/** Starts each hook of the checkout in a process of its own, and applies the controllers once all of them answer. */
async function startHooks(start: HookStart, profiler?: Profiler): Promise<string[]> {
  const { checkout, folder, started, cluster, signal } = start;
  const { hookNames } = await partOf<typeof import("../../tools/serve/hooks.ts")>(checkout, "tools/serve/hooks.ts");
  const render = await partOf<typeof import("../../tools/manifests/render.ts")>(checkout, "tools/manifests/render.ts");
  const ports = await freePorts(hookNames.length);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const main = join(checkout, "tools/serve/main.ts");
  await Promise.all(hookNames.map(async (name, index) => {
    const args = [main, name, "--host", "127.0.0.1", "--port", String(ports[index])];
    const hook = startNode(name, args, folder, profiler);
    started.push(hook);
    await untilAnswering(`${urls[index]}/healthz`, hook, signal);
  }));
  const manifests = render.renderManifests((hook) => urls[hookNames.indexOf(hook)] ?? "");
  const apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
  execFileSync(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, ...apply], { input: manifests, stdio: "pipe" });
  return urls;
}

function startNode(name: string, args: string[], folder: string, profiler?: Profiler): ProcessRecord {
  const logFile = join(folder, "logs", `${name}.log`);
  return startProcess({
    name,
    command: process.execPath,
    args: [...(profiler?.nodeArgs(name) ?? []), ...args],
    logFile,
  });
}

/** Loads a module of a checkout: each knows best what it serves and how it is installed. */
async function partOf<T>(checkout: string, path: string): Promise<T> {
  return await import(pathToFileURL(join(checkout, path)).href) as T;
}
