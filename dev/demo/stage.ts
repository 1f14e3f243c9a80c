/** Everything that the demo runs on: a cluster, the hooks from a copy that it may edit, an engine, the keeper. @module */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { freePorts } from "../cluster/ports.ts";
import { endGently, type ProcessRecord, startProcess, startTimeOf } from "../cluster/processes.ts";
import { readRecord, writeRecord } from "../cluster/state.ts";
import { STATE_FOLDER } from "../cluster/statefolder.ts";
import { importRuntimeImage } from "../cluster/runtimeimage.ts";
import { localCRDs } from "../crds.ts";
import { untilAnswering } from "../answering.ts";
import { hookNames } from "../../hooks/all.ts";
import { startMetacontroller } from "../metacontroller/start.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Inside the checkout, so that packages are found; ignored by git. */
const COPY = join(ROOT, ".hookbox/demo");
const LOGS = join(ROOT, ".hookbox/demo-logs");
const PACKAGES = ["packages/api", "packages/process", "packages/webhook"];
const COPIED = [...PACKAGES, "hooks", "package.json", "tsconfig.json", "deno.json"];

/** The running parts, by name, and how to end them. */
export interface Stage {
  cluster: Cluster;
  engine: string;
  /** Base URL of each hook, by name: a process and a port each. */
  hookURLs: Map<string, string>;
  /** Folder with the hooks that run: a copy of this checkout's. */
  copy: string;
  processes: Map<string, ProcessRecord>;
  /** Starts one hook (again) from the copy, and waits until it answers. */
  startHook(name: string): Promise<void>;
  /** Starts what needs the CRDs: the engine and the keeper. */
  startControllers(): Promise<void>;
  /** Base URL of the router, once it runs. */
  routerURL: string;
  /** Brings the runtime's image onto the real node. */
  importRuntime(): Promise<void>;
  startRouter(): Promise<void>;
  /** Ends everything, or hands it to `npm run down`. */
  leave(keep: boolean): Promise<void>;
}

/** Starts the cluster; the rest is started by the chapters that show it. */
export async function openStage(say: (line: string) => void, signal: AbortSignal): Promise<Stage> {
  const options = { stateDir: STATE_FOLDER, nodes: "auto", crds: localCRDs() } as const;
  const cluster = await startCluster({ ...options, progress: say, signal });
  for (const folder of [COPY, LOGS]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  for (const name of COPIED) cpSync(join(ROOT, name), join(COPY, name), { recursive: true });
  const ports = await freePorts(hookNames.length);
  const hookURLs = new Map(hookNames.map((name, index) => [name, `http://127.0.0.1:${ports[index]}`]));
  const processes = new Map<string, ProcessRecord>();
  const stage: Stage = {
    cluster,
    engine: "",
    hookURLs,
    copy: COPY,
    processes,
    startHook: async (name) => {
      const running = processes.get(name);
      if (running) await endGently(running);
      const url = hookURLs.get(name) ?? "";
      const started = startHook(name, new URL(url).port);
      processes.set(name, started);
      await untilAnswering(`${url}/healthz`, started, signal);
    },
    startControllers: async () => {
      const logFile = join(LOGS, "metacontroller.log");
      const engine = await startMetacontroller({
        kubeconfig: cluster.kubeconfig,
        logFile,
        progress: say,
        detached: true,
      });
      stage.engine = engine.kind === "real" ? `Metacontroller ${engine.version}` : "the stand-in for Metacontroller";
      processes.set("engine", recordOf("engine", engine.pid, logFile));
      processes.set("keeper", startNode("keeper", ["packages/keeper/main.ts", "--kubeconfig", cluster.kubeconfig]));
    },
    routerURL: "",
    importRuntime: () => importRuntimeImage(STATE_FOLDER, { progress: say, signal }),
    startRouter: async () => {
      const [port = 0, health = 0] = await freePorts(2);
      const address = ["--port", String(port), "--health-probe-bind-address", `127.0.0.1:${health}`];
      const behaviour = ["--authz-mode", "allow-all", "--idle-check-interval", "1s"];
      const args = ["packages/router/main.ts", "--kubeconfig", cluster.kubeconfig, ...address, ...behaviour];
      const started = startNode("router", args);
      processes.set("router", started);
      await untilAnswering(`http://127.0.0.1:${health}/readyz`, started, signal);
      stage.routerURL = `http://127.0.0.1:${port}`;
    },
    leave: (keep) => keep ? Promise.resolve(handOver(stage)) : close(stage),
  };
  return stage;
}

function startHook(name: string, port: string): ProcessRecord {
  const command = join(ROOT, "node_modules/.bin/deno");
  const deno = ["run", "--no-prompt", `--allow-net=127.0.0.1:${port}`, join(COPY, `hooks/${name}/main.ts`)];
  const args = [...deno, "--host", "127.0.0.1", "--port", port];
  return startProcess({ name, command, args, logFile: join(LOGS, `${name}.log`) });
}

function startNode(name: string, [script = "", ...args]: string[]): ProcessRecord {
  const logFile = join(LOGS, `${name}.log`);
  return startProcess({ name, command: process.execPath, args: [join(ROOT, script), ...args], logFile });
}

async function close({ cluster, processes }: Stage): Promise<void> {
  await Promise.all([...processes.values()].map(endGently));
  await cluster.stop();
  rmSync(COPY, { recursive: true, force: true });
}

/** From now on everything belongs to the cluster's record, which is what `npm run down` ends. */
function handOver({ cluster, processes }: Stage): void {
  const record = readRecord(cluster.stateDir);
  if (!record) throw new Error(`Cannot leave the cluster running: ${cluster.stateDir} has no record of it`);
  writeRecord(cluster.stateDir, {
    ...record,
    owner: undefined,
    processes: [...record.processes, ...processes.values()],
  });
}

function recordOf(name: string, pid: number, logFile: string): ProcessRecord {
  return { name, pid, startTime: startTimeOf(pid) ?? "gone", logFile };
}
