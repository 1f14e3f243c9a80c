/**
 * The environment of a recording: a local cluster, hookbox's hooks, the keeper, and Metacontroller behind proxies.
 * @module
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Api } from "../../../packages/kube/api.ts";
import { connect } from "../../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../../packages/kube/credentials.ts";
import { type Cluster, startCluster } from "../../cluster/cluster.ts";
import { localCRDs } from "../../crds.ts";
import { type RunningMetacontrollers, startMetacontrollers } from "./metacontrollers.ts";
import { type Counter, type HookCall, type Intercept, startHookProxy } from "./traffic.ts";

export interface RecordingWorld {
  cluster: Cluster;
  api: Api;
  engines: RunningMetacontrollers;
  hookCalls: HookCall[];
  /** Returns the next number. Everything that is recorded later gets a higher one. */
  count: Counter;
  /** Base URL of the hooks, by their port: `<hooks>/<port>/<path>`. */
  hooks: string;
  folder: string;
  /** Aborts when the recording is over or given up. */
  signal: AbortSignal;
  /** Registers a step for the end. The steps run in reverse order. */
  atEnd(stop: () => Promise<void>): void;
  stop(): Promise<void>;
}

export interface RecordingOptions {
  binary: string;
  progress: (line: string) => void;
  signal: AbortSignal;
  nodes: "simulated" | "none";
  intercept?: Intercept;
}

/** Starts the environment, without controllers. If the start fails, everything that it had started is removed. */
export async function startRecordingWorld(options: RecordingOptions): Promise<RecordingWorld> {
  const { binary, progress, nodes, intercept } = options;
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const step of stops.splice(0).reverse()) await step();
  };
  const ending = new AbortController();
  options.signal.addEventListener("abort", () => ending.abort(options.signal.reason));
  try {
    const folder = mkdtempSync(join(tmpdir(), "hookbox-record-"));
    stops.push(() => Promise.resolve(rmSync(folder, { recursive: true, force: true })));
    const stateDir = join(folder, "cluster");
    const nodeCount = nodes === "simulated" ? { simulatedNodes: 4 } : {};
    const cluster = await startCluster({
      stateDir,
      nodes,
      ...nodeCount,
      crds: localCRDs(),
      progress,
      signal: ending.signal,
    });
    stops.push(() => cluster.stop());
    stops.push(() => Promise.resolve(ending.abort()));
    const credentials = await kubeconfigCredentials(cluster.kubeconfig);
    const api = connect(credentials, { signal: ending.signal, userAgent: "hookbox-record" });
    let number = 0;
    const count = () => ++number;
    const hookCalls: HookCall[] = [];
    const hooks = await startHookProxy(count, hookCalls);
    stops.push(hooks.stop);
    mkdirSync(join(folder, "engines"));
    const engines = startMetacontrollers({
      binary,
      api,
      credentials,
      folder: join(folder, "engines"),
      count,
      signal: ending.signal,
      progress,
      ...(intercept && { intercept }),
    });
    stops.push(() => engines.stop());
    const atEnd = (step: () => Promise<void>) => void stops.push(step);
    return { cluster, api, engines, hookCalls, count, hooks: hooks.url, folder, signal: ending.signal, atEnd, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates a namespace, and waits until Pods can be created in it. */
export async function makeNamespace(api: Api, name: string): Promise<void> {
  const { status, body } = await api.send({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } });
  if (status >= 300) throw new Error(`Cannot make namespace ${name}: ${JSON.stringify(body)}`);
  const path = `/api/v1/namespaces/${name}/serviceaccounts/default`;
  for (let tries = 0; (await api.send({ method: "GET", path })).status !== 200; tries++) {
    if (tries > 300) throw new Error(`Cannot use namespace ${name}: it has no service account`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
