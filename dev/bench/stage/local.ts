/** A stage on a new local cluster, with the controllers of one implementation. @module */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Cluster, startCluster } from "../../cluster/cluster.ts";
import { PODS_PER_NODE } from "../../cluster/kwok.ts";
import { freePorts } from "../../cluster/ports.ts";
import { endGently, type ProcessRecord, startProcess, untilAnswering } from "../../cluster/processes.ts";
import { importRuntimeImage } from "../../cluster/runtimeimage.ts";
import { readRecord } from "../../cluster/state.ts";
import { commandRunner, connectLoad, loadProcess, type Stage } from "./stage.ts";
import { prepareAudit } from "../measure/requests.ts";
import type { Watched } from "../measure/usage.ts";
import { type Profiler, startProfiler } from "../measure/profiles.ts";
import { SandboxClient } from "../../../packages/sdk/client.ts";
import { startE2B, writeSecret } from "./e2b.ts";
import type { EpisodeAccess } from "../shapes/shape.ts";

const ROUTER = fileURLToPath(new URL("../../../packages/router/main.ts", import.meta.url));

/** The environment in which the controllers of an implementation start. */
interface ControllerContext {
  cluster: Cluster;
  /** The folder for files. It contains a folder `logs`. */
  folder: string;
  /** Every process is added when it starts, so that it is ended in any case. */
  started: ProcessRecord[];
  /** Further steps to do at the end. The last one runs first. */
  stops: (() => Promise<unknown>)[];
  signal: AbortSignal;
  profiler: Profiler | undefined;
}

/** An implementation of the API: its CRDs, and how its processes start. */
export interface Controllers {
  /** YAML or JSON texts. */
  crds(): Promise<string[]>;
  /**
   * Starts the implementation. `metacontrollers` are processes that are not in `started`. `metacontroller` is their
   * name and version.
   */
  start(
    context: ControllerContext,
  ): Promise<{ hookURLs: string[]; metacontrollers: Watched[]; metacontroller?: string }>;
}

interface LocalOptions {
  controllers: Controllers;
  nodes: "simulated" | "real";
  /** Whether to import the runtime's image on the real node. */
  runtime: boolean;
  /** Whether to run this checkout's router, in front of any implementation. */
  router: boolean;
  /** Whether to run this checkout's API for E2B's SDKs, too. It needs the router. */
  e2b: boolean;
  /** Path of a Python with the published client; undefined: none. */
  python: string | undefined;
  /** The number of Pods that the simulated nodes must have room for. */
  pods: number;
  /** The folder for CPU profiles of the measured part; undefined: none are taken. */
  profiles?: string | undefined;
  progress: (line: string) => void;
}

/** A few more nodes than necessary, because the scheduler distributes Pods, and old Pods end while new ones start. */
const LEAST_NODES = 8;

/** Starts everything. `close` ends it and removes all files. */
export async function openLocal(options: LocalOptions, signal: AbortSignal): Promise<Stage> {
  const { controllers, nodes, progress } = options;
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
    const cluster = await startCluster({
      stateDir: join(folder, "cluster"),
      nodes,
      simulatedNodes: nodes === "simulated" ? LEAST_NODES + Math.ceil(options.pods / PODS_PER_NODE) : 0,
      crds: await controllers.crds(),
      apiServerArgs: [...audit.apiServerArgs, ...(profiler?.apiServerArgs ?? [])],
      signal,
    });
    stops.push(() => cluster.stop());
    if (options.runtime) await importRuntimeImage(cluster.stateDir, { progress, signal });
    // The processes end normally: a process that is killed writes no profile.
    stops.push(() => Promise.all(started.map(endGently)));
    const api = await connectLoad(cluster.kubeconfig, AbortSignal.any([signal, ending.signal]));
    const { hookURLs, metacontrollers, metacontroller } = await controllers.start({
      cluster,
      folder,
      started,
      stops,
      signal,
      profiler,
    });
    const secretFile = options.e2b ? writeSecret(folder) : undefined;
    const routerUrl = options.router ? await startRouter(cluster, folder, started, signal, secretFile) : undefined;
    const apiUrl = secretFile && await startE2B(cluster, folder, secretFile, started, signal);
    progress(`${metacontroller ?? "no Metacontroller"}, ${nodes} nodes`);
    return {
      api,
      requests: audit.requests,
      hookURLs,
      processes: [
        ...started,
        ...metacontrollers,
        ...clusterProcesses(cluster),
        loadProcess(),
      ],
      ...(metacontroller === undefined ? {} : { metacontroller }),
      ...(nodes === "real" ? { command: commandRunner(cluster.kubeconfig) } : {}),
      ...(options.runtime ? { sdk: new SandboxClient({ kubeconfig: cluster.kubeconfig }) } : {}),
      ...(routerUrl === undefined ? {} : {
        access: {
          ...accessOf(cluster, routerUrl, options.python),
          ...apiUrl === undefined ? {} : { e2b: { apiUrl, sandboxUrl: routerUrl } },
        },
      }),
      ...(profiler ? { profile: () => profiler.take(cluster) } : {}),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts a router that lets everybody in, and returns its URL. */
async function startRouter(
  { kubeconfig }: Cluster,
  folder: string,
  started: ProcessRecord[],
  signal: AbortSignal,
  secretFile?: string,
): Promise<string> {
  const [port, side] = await freePorts(2);
  const args = ["--kubeconfig", kubeconfig, "--port", `${port}`, "--authz-mode", "allow-all"];
  const probes = ["--health-probe-bind-address", `127.0.0.1:${side}`, "--metrics-bind-address", `127.0.0.1:${side}`];
  const record = startProcess({
    name: "router",
    command: process.execPath,
    args: [ROUTER, ...args, ...probes, ...secretFile === undefined ? [] : ["--e2b-secret-file", secretFile]],
    logFile: join(folder, "logs", "router.log"),
  });
  started.push(record);
  await untilAnswering(`http://127.0.0.1:${side}/readyz`, record, signal);
  return `http://127.0.0.1:${port}`;
}

function accessOf({ kubeconfig }: Cluster, routerUrl: string, python: string | undefined): EpisodeAccess {
  return { kubeconfig, routerUrl, python, sdk: new SandboxClient({ kubeconfig, routerUrl }) };
}

function clusterProcesses({ stateDir }: Cluster) {
  return (readRecord(stateDir)?.processes ?? []).map(({ name, pid }) => ({ name, pid }));
}
