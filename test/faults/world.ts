/**
 * A cluster of its own for faults, with every process that hookbox needs to be killed and started one by one: hooks
 * behind a proxy, Metacontroller, a keeper that is a binder too, a router, the API server and etcd. @module
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { endProcesses, isRunning, type ProcessRecord, startProcess } from "../../dev/cluster/processes.ts";
import { readRecord, saveCluster } from "../../dev/cluster/state.ts";
import { localCRDs } from "../../dev/crds.ts";
import { startMetacontroller } from "../../dev/metacontroller/start.ts";
import { renderManifests } from "../../packages/manifests/render.ts";
import { type FaultProxy, startFaultProxy } from "./proxy.ts";
import { attempt, type Kubectl, run, until } from "../integration/kubectl.ts";
import { startChild } from "../integration/processes.ts";

/** A process that can be killed (SIGKILL) and started again; `start` returns when it is up. */
interface Part {
  kill(): Promise<void>;
  /** @param more arguments beyond those it had when it was first started: of the control plane only */
  start(...more: string[]): Promise<void>;
}

export type PartName = "hooks" | "Metacontroller" | "keeper" | "router" | "API server" | "etcd";

export interface FaultWorld {
  kubectl: Kubectl;
  parts: Record<PartName, Part>;
  /** The proxy between Metacontroller and the hooks. */
  proxy: FaultProxy;
  etcd: {
    url: string;
    /** Where its data is. */
    folder: string;
    /** Resolves when it has ended, of whatever. @throws {Error} if it has not in five minutes */
    ended(): Promise<void>;
  };
  /** URL of the router, without a slash at its end. Pods have addresses of this machine's loopback. */
  router: string;
  /** Sets the wall clock of a process ahead, or back, of the machine's. */
  setClock(part: "hooks" | "keeper", aheadMs: number): void;
  /** Every write so far to Sandboxes and claims as the API server has answered it: lines of its audit log. */
  writes(): string[];
  down(): Promise<void>;
}

const NODES = 8;
/** On Linux all of 127/8 is the machine itself: what listens on a port of all addresses is in every Pod. */
const POD_SUBNET = "127.64.0.0/10";

const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
omitManagedFields: true
rules:
  - level: RequestResponse
    verbs: [create, update, patch]
    resources:
      - { group: agents.x-k8s.io, resources: [sandboxes, sandboxes/status] }
      - { group: extensions.agents.x-k8s.io, resources: [sandboxclaims, sandboxclaims/status] }
  - level: None
`;

/** The log of writes is read whole at the end; the API server would begin another one after 100 MB. */
const WHOLE_LOG = ["--audit-log-maxsize=4096"];

/** Starts everything; some seconds. */
export async function startFaultWorld(): Promise<FaultWorld> {
  const directory = mkdtempSync(join(tmpdir(), "hookbox-faults-"));
  const logs = process.env["HOOKBOX_TEST_LOGS"] ?? join(directory, "logs");
  mkdirSync(logs, { recursive: true });
  const policy = join(directory, "audit.yaml");
  writeFileSync(policy, AUDIT_POLICY);
  const audit = join(directory, "writes.log");
  const cluster = await startCluster({
    stateDir: join(directory, "cluster"),
    nodes: "simulated",
    simulatedNodes: NODES,
    podSubnet: POD_SUBNET,
    crds: localCRDs(),
    apiServerArgs: [`--audit-policy-file=${policy}`, `--audit-log-path=${audit}`, ...WHOLE_LOG],
  });
  const { kubeconfig } = cluster;
  const kubectl = { kubectl: cluster.kubectl, kubeconfig };
  const [hooksPort = 0, proxyPort = 0, keeperPort = 0, routerPort = 0, routerHealth = 0] = await freePorts(5);
  const proxy = await startFaultProxy(proxyPort, hooksPort);
  await run(kubectl, ["apply", "-f", "-"], renderManifests(`http://127.0.0.1:${proxyPort}`));
  const clockFile = (name: string) => join(directory, `clock-of-${name}`);
  const own = (name: string, healthPort: number, args: string[]) =>
    ownPart(healthPort, () => {
      const preload = ["--import", new URL("shiftedclock.ts", import.meta.url).href];
      return startChild(`faults-${name}`, [...preload, ...args], logs, { HOOKBOX_TEST_CLOCK: clockFile(name) });
    });
  // Their names outlive their containers, as those of Pods do.
  const keeperFlags = ["--kubeconfig", kubeconfig, "--identity", "keeper-0", "--port", String(keeperPort)];
  const routerFlags = ["--kubeconfig", kubeconfig, "--identity", "router-0", "--port", String(routerPort)];
  const everybody = ["--authz-mode", "allow-all", "--allow-loopback-pod-ip", "--no-access-log"];
  const idling = ["--idle-check-interval", "500ms", "--health-probe-bind-address", `127.0.0.1:${routerHealth}`];
  const isServing = async () => (await attempt(kubectl, ["get", "--raw", "/readyz"])).code === 0;
  const etcd = {
    url: flagOf(cluster, "listen-client-urls"),
    folder: flagOf(cluster, "data-dir"),
    async ended() {
      const runs = () => Promise.resolve(recordsOf(cluster, "etcd").some(isRunning));
      await until(runs, (running) => !running);
    },
  };
  const parts = {
    hooks: own("hooks", hooksPort, ["hooks/serve.ts", "--host", "127.0.0.1", "--port", String(hooksPort)]),
    Metacontroller: engine(kubeconfig, join(logs, "faults-metacontroller.log")),
    keeper: own("keeper", keeperPort, ["packages/keeper/main.ts", ...keeperFlags]),
    router: own("router", routerHealth, ["packages/router/main.ts", ...routerFlags, ...everybody, ...idling]),
    "API server": planePart(cluster, "kube-apiserver", logs, isServing),
    etcd: planePart(cluster, "etcd", logs, () => isUp(`${etcd.url}/readyz`)),
  };
  const watching = keepRunning(cluster, ["kube-scheduler", "kube-controller-manager", "kwok"], logs);
  await parts.hooks.start();
  await parts.Metacontroller.start();
  await parts.keeper.start();
  await parts.router.start();
  return {
    kubectl,
    parts,
    proxy,
    etcd,
    router: `http://127.0.0.1:${routerPort}`,
    setClock: (part, aheadMs) => writeFileSync(clockFile(part), String(aheadMs)),
    writes: () =>
      globSync("writes*.log", { cwd: directory }).flatMap((name) =>
        readFileSync(join(directory, name), "utf8").split("\n")
      ),
    async down() {
      clearInterval(watching);
      await parts.router.kill();
      await parts.keeper.kill();
      await parts.Metacontroller.kill();
      await parts.hooks.kill();
      await proxy.stop();
      await cluster.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A process of this repository that has `/healthz` on a port of loopback. */
function ownPart(port: number, begin: () => ReturnType<typeof startChild>): Part {
  let child: ReturnType<typeof startChild> | undefined;
  return {
    kill: async () => await child?.kill("SIGKILL"),
    async start() {
      child = begin();
      await until(() => isUp(`http://127.0.0.1:${port}/healthz`), (up) => up);
    },
  };
}

function engine(kubeconfig: string, logFile: string): Part {
  let running: Awaited<ReturnType<typeof startMetacontroller>> | undefined;
  return {
    async kill() {
      if (running) process.kill(running.pid, "SIGKILL");
      await running?.stop();
      running = undefined;
    },
    start: async () => void (running = await startMetacontroller({ kubeconfig, logFile, progress: () => {} })),
  };
}

/**
 * A process of the control plane: the cluster's record has the one that runs, so that it ends with the cluster.
 * One that ends as it starts is started again, as a service manager would.
 */
function planePart(cluster: Cluster, name: string, logs: string, isBack: () => Promise<boolean>): Part {
  const begin = starter(cluster, name, logs);
  return {
    kill: () => endProcesses(recordsOf(cluster, name).filter(isRunning)),
    async start(...more) {
      let begun = begin(more);
      await until(
        async () => {
          if (!isRunning(begun)) begun = begin(more);
          return await isBack();
        },
        (back) => back,
      );
    },
  };
}

/** Starts again what ends: a scheduler does of itself when the API server's death has left its cache at odds. */
function keepRunning(cluster: Cluster, names: string[], logs: string): ReturnType<typeof setInterval> {
  const starters = names.map((name) => [name, starter(cluster, name, logs)] as const);
  return setInterval(() => {
    for (const [name, begin] of starters) if (!recordsOf(cluster, name).some(isRunning)) begin([]);
  }, 500);
}

/** Returns what starts a process as it was started first, and notes it in the cluster's record. */
function starter(cluster: Cluster, name: string, logs: string): (more: string[]) => ProcessRecord {
  const [command = "", ...args] = commandOf(cluster, name);
  return (more) => {
    const record = readRecord(cluster.stateDir);
    if (!record) throw new Error(`Cannot start ${name}: ${cluster.stateDir} has no record`);
    const begun = startProcess({ name, command, args: [...args, ...more], logFile: join(logs, `faults-${name}.log`) });
    const others = record.processes.filter((process) => process.name !== name);
    saveCluster(cluster.stateDir, { ...record, processes: [...others, begun] });
    return begun;
  };
}

function recordsOf({ stateDir }: Cluster, name: string): ProcessRecord[] {
  return readRecord(stateDir)?.processes.filter((process) => process.name === name) ?? [];
}

function commandOf(cluster: Cluster, name: string): string[] {
  const [record] = recordsOf(cluster, name);
  if (!record) throw new Error(`Cannot find ${name}: ${cluster.stateDir} has no record of it`);
  return readFileSync(`/proc/${record.pid}/cmdline`, "utf8").split("\0").slice(0, -1);
}

function flagOf(cluster: Cluster, name: string): string {
  const flag = `--${name}=`;
  const argument = commandOf(cluster, "etcd").find((each) => each.startsWith(flag));
  if (argument === undefined) throw new Error(`Cannot find etcd's ${flag}`);
  return argument.slice(flag.length);
}

async function isUp(url: string): Promise<boolean> {
  return await fetch(url, { headers: { connection: "close" } }).then(({ ok }) => ok, () => false);
}
