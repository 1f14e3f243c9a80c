/**
 * A cluster of its own for tests that break things: simulated nodes, each hook, Metacontroller, the keeper and two binders
 * are each a process that can be killed and comes back. @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { readRecord } from "../../dev/cluster/state.ts";
import { localCRDs } from "../../dev/crds.ts";
import { startMetacontroller } from "../../dev/metacontroller/start.ts";
import { renderManifests } from "../../packages/manifests/render.ts";
import { hookNames } from "../../hooks/all.ts";
import { attempt, type Kubectl, run, until } from "./kubectl.ts";
import { type Child, endProcess, startChild } from "./processes.ts";

const NODES = 8;

/** What can be broken. Every method returns once the thing is back. */
export interface Breakable {
  kubectl: Kubectl;
  killHook(hook: string): Promise<void>;
  /** Kills a hook and starts it again when `during` has ended, well or not. */
  withoutHook(hook: string, during: () => Promise<void>): Promise<void>;
  killEngine(): Promise<void>;
  /** Kills the binder that leads; it takes its Lease again, or the other one does. */
  killBinder(): Promise<void>;
  killApiServer(): Promise<void>;
  /**
   * Copies what etcd holds while it is stopped. The returned function restores that: control plane and Metacontroller end,
   * and begin anew on the copy, as docs/reliability.md has it. hookbox goes on.
   */
  backUp(): Promise<() => Promise<void>>;
  /** Kills both binders, and starts them again when `during` has ended, well or not: then none remembers anything. */
  withoutBinders(during: () => Promise<void>): Promise<void>;
  logs: string;
  down(): Promise<void>;
}

/** Starts everything; some seconds. */
export async function startBreakable(): Promise<Breakable> {
  const directory = mkdtempSync(join(tmpdir(), "hookbox-breakable-"));
  const logs = process.env["HOOKBOX_TEST_LOGS"] ?? join(directory, "logs");
  mkdirSync(logs, { recursive: true });
  const options = { stateDir: join(directory, "cluster"), simulatedNodes: NODES, crds: localCRDs() };
  const cluster = await startCluster({ ...options, nodes: "simulated", progress: () => {} });
  const kubectl = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  const ports = await freePorts(hookNames.length);
  const binderPorts = await freePorts(2);
  const portOf = (hook: string) => String(ports[hookNames.indexOf(hook)]);
  await run(kubectl, ["apply", "-f", "-"], renderManifests((hook) => `http://127.0.0.1:${portOf(hook)}`));
  const start = (hook: string) =>
    startChild(`breakable-${hook}`, ["hooks/serve.ts", hook, "--host", "127.0.0.1", "--port", portOf(hook)], logs);
  const hooks = new Map<string, Child>(hookNames.map((hook) => [hook, start(hook)]));
  const startEngine = () =>
    startMetacontroller({
      kubeconfig: cluster.kubeconfig,
      logFile: join(logs, "breakable-engine.log"),
      progress: () => {},
    });
  let engine = await startEngine();
  let backups = 0;
  const endEngine = async () => {
    process.kill(engine.pid, "SIGKILL");
    await engine.stop();
  };
  const given = ["--kubeconfig", cluster.kubeconfig];
  const keeper = startChild("breakable-keeper", ["packages/keeper/main.ts", "--no-binder", ...given], logs);
  const startBinder = (port: number) =>
    startChild(`breakable-binder-${port}`, ["packages/binder/main.ts", ...bindersOwn(port), ...given], logs);
  const binders = new Map<number, Child>(binderPorts.map((port) => [port, startBinder(port)]));
  const plane = controlPlaneOf(cluster, logs);
  const withoutHook = async (hook: string, during: () => Promise<void>) => {
    await hooks.get(hook)?.kill("SIGKILL");
    try {
      await during();
    } finally {
      hooks.set(hook, start(hook));
      await until(() => isUp(`http://127.0.0.1:${portOf(hook)}/healthz`), (up) => up);
    }
  };
  return {
    kubectl,
    withoutHook,
    killHook: (hook) => withoutHook(hook, () => Promise.resolve()),
    killEngine: async () => {
      await endEngine();
      engine = await startEngine();
    },
    killBinder: async () => {
      const port = await until(() => leaderOf(binderPorts), (leader) => leader !== undefined) ?? 0;
      await binders.get(port)?.kill("SIGKILL");
      binders.set(port, startBinder(port));
      await until(() => isUp(`http://127.0.0.1:${port}/healthz`), (up) => up);
    },
    killApiServer: async () => {
      await plane.kill("kube-apiserver");
      plane.start("kube-apiserver");
      await untilServing(kubectl);
    },
    backUp: async () => {
      const folder = join(cluster.stateDir, "etcd");
      const copy = join(directory, `backup-${backups++}`);
      const around = async (change: () => void) => {
        await endEngine();
        for (const name of PLANE.toReversed()) await plane.kill(name, name === "etcd" ? "SIGTERM" : "SIGKILL");
        change();
        for (const name of PLANE) plane.start(name);
        await untilServing(kubectl);
        engine = await startEngine();
      };
      await around(() => cpSync(folder, copy, { recursive: true }));
      return () =>
        around(() => {
          rmSync(folder, { recursive: true });
          cpSync(copy, folder, { recursive: true });
        });
    },
    withoutBinders: async (during) => {
      await Promise.all([...binders.values()].map((binder) => binder.kill("SIGKILL")));
      try {
        await during();
      } finally {
        for (const port of binders.keys()) binders.set(port, startBinder(port));
      }
    },
    logs,
    down: async () => {
      await Promise.all([keeper, engine, ...hooks.values(), ...binders.values()].map((child) => child.stop()));
      await plane.end();
      await cluster.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Waits until the API server serves custom resources, too: it says that it is ready before their storage is. */
async function untilServing(kubectl: Kubectl): Promise<void> {
  const kinds = "sandboxes,sandboxclaims,sandboxwarmpools,sandboxtemplates";
  await until(() => attempt(kubectl, ["get", kinds, "-A", "--request-timeout=10s"]), ({ code }) => code === 0);
}

/** What has to begin anew after a restore, in the order in which it starts. */
const PLANE = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"];

/**
 * The processes of a cluster: killed, and started again with the same arguments, as an init system would. One that was
 * started here and ends by itself is started again, too, as kube-scheduler has to be after the API server was killed.
 */
function controlPlaneOf({ stateDir }: Cluster, logs: string) {
  const commands = new Map<string, string[]>();
  const pids = new Map<string, number>();
  for (const { name, pid } of readRecord(stateDir)?.processes ?? []) {
    pids.set(name, pid);
    commands.set(name, readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1));
  }
  const startedHere = new Map<string, ChildProcess>();
  function start(name: string): void {
    const [command = "", ...args] = commands.get(name) ?? [];
    const log = openSync(join(logs, `breakable-${name}.log`), "a");
    const child = spawn(command, args, { stdio: ["ignore", log, log] });
    closeSync(log);
    pids.set(name, child.pid ?? 0);
    startedHere.set(name, child);
    child.once("exit", () => startedHere.get(name) === child && setTimeout(() => restart(name, child), AGAIN_MS));
  }
  function restart(name: string, child: ChildProcess): void {
    if (startedHere.get(name) === child) start(name);
  }
  async function kill(name: string, signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const pid = pids.get(name);
    if (pid === undefined) throw new Error(`Cannot find the process ${name}: ${stateDir} has no record of it`);
    const child = startedHere.get(name);
    startedHere.delete(name);
    if (child && (child.exitCode !== null || child.signalCode !== null)) return;
    if (signal === "SIGKILL") process.kill(pid, signal);
    await endProcess(pid);
  }
  return { kill, start, end: async () => void await Promise.all([...startedHere.keys()].map((name) => kill(name))) };
}

/** How long an init system waits before it starts something again, in milliseconds. */
const AGAIN_MS = 500;

/** As a Pod has it: its name outlives its containers. */
function bindersOwn(port: number): string[] {
  return ["--port", String(port), "--identity", `binder-${port}`];
}

/** Finds the binder that says it leads. */
async function leaderOf(ports: number[]): Promise<number | undefined> {
  for (const port of ports) {
    const metrics = await fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text(), () => "");
    if (metrics.includes("\nhookbox_binder_leading 1")) return port;
  }
  return undefined;
}

async function isUp(url: string): Promise<boolean> {
  return await fetch(url).then(({ ok }) => ok, () => false);
}
