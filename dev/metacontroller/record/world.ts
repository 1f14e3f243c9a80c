/**
 * The environment of a recording: a local cluster, hookbox's hooks, the keeper, and Metacontroller: for each controller
 * a process of its own, behind its own proxy, so that every request can be assigned to a controller. @module
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Api } from "../../../packages/kube/api.ts";
import { connect } from "../../../packages/kube/connection.ts";
import { type Credentials, kubeconfigCredentials } from "../../../packages/kube/credentials.ts";
import { type Cluster, startCluster } from "../../cluster/cluster.ts";
import {
  type Counter,
  type HookCall,
  type Intercept,
  type Proxy,
  startApiProxy,
  startHookProxy,
  type Traffic,
} from "./traffic.ts";
import { listAndWatch } from "../../../packages/kube/watch.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { kubeObjectSchema } from "../../../packages/api/objects/schemas.ts";
import { type StartedMetacontroller, startMetacontroller } from "../start.ts";
import { localCRDs } from "../../crds.ts";

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

/** The recording of one controller. */
export interface Recorded {
  /** The controller's first state. */
  object: KubeObject;
  traffic: Traffic;
  /** When the controller was deleted, in milliseconds since 1970. */
  endedAt?: number;
}

interface MetacontrollersOptions {
  binary: string;
  api: Api;
  credentials: Credentials;
  /** The folder for kubeconfigs and logs. */
  folder: string;
  count: Counter;
  signal: AbortSignal;
  progress: (line: string) => void;
  intercept?: Intercept;
}

interface RunningMetacontrollers {
  /** By `<kind>/<name>`: all controllers that have ever existed. */
  controllers: ReadonlyMap<string, Recorded>;
  /** The version that the process reports; "": the first process has not started yet. */
  version(): string;
  stop(): Promise<void>;
}

/**
 * By default, every process does discovery once per second. This is not necessary, because kinds exist before their
 * controllers.
 */
const FLAGS = ["--discovery-interval=10s"];

/** Starts a process for every controller that exists or is created, and ends it when its controller is deleted. */
function startMetacontrollers(options: MetacontrollersOptions): RunningMetacontrollers {
  const { api, signal, progress } = options;
  const controllers = new Map<string, Recorded>();
  const running = new Map<string, Promise<Running>>();
  let version = "";

  async function start(object: KubeObject): Promise<Running> {
    const traffic: Traffic = { requests: [], sightings: [] };
    controllers.set(keyOf(object), { object, traffic });
    const proxy = await startApiProxy({
      ...options,
      traffic,
      controller: { kind: object.kind, name: object.metadata.name },
    });
    const engine = await startOne(options, object, proxy.url);
    version = engine.version;
    return { engine, proxy };
  }

  for (const kind of ["CompositeController", "DecoratorController"]) {
    const parse = (object: unknown) => kubeObjectSchema.safeParse({ ...object as object, kind }).data;
    const path = `/apis/metacontroller.k8s.io/v1alpha1/${kind.toLowerCase()}s`;
    const handler = {
      observe(object: KubeObject) {
        const uid = object.metadata.uid ?? "";
        if (running.has(uid)) return;
        const started = start({ ...object, apiVersion: "metacontroller.k8s.io/v1alpha1" });
        started.catch((error) => progress(`Cannot record ${keyOf(object)}: ${error}`));
        running.set(uid, started);
      },
      gone(uid: string) {
        for (const recorded of controllers.values()) {
          if (recorded.object.metadata.uid === uid) recorded.endedAt = Date.now();
        }
        running.get(uid)?.then(end).catch(() => {});
      },
      listed() {},
    };
    void listAndWatch(api, { path, parse }, handler, { log: () => {}, signal });
  }
  return {
    controllers,
    version: () => version,
    stop: async () => void await Promise.allSettled([...running.values()].map(async (started) => end(await started))),
  };
}

interface Running {
  engine: StartedMetacontroller;
  proxy: Proxy;
}

/**
 * The process has one worker, so that a request always belongs to the same sync as the request before it or to the next
 * sync.
 */
function startOne({ binary, folder }: MetacontrollersOptions, object: KubeObject, server: string) {
  const name = `${object.kind}-${object.metadata.name}`;
  mkdirSync(folder, { recursive: true });
  const kubeconfig = join(folder, `${name}.kubeconfig`);
  writeFileSync(
    kubeconfig,
    stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      clusters: [{ name: "c", cluster: { server } }],
      users: [{ name: "u", user: {} }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    }),
  );
  const logFile = join(folder, `${name}.log`);
  return startMetacontroller({ binary, kubeconfig, logFile, workers: 1, flags: FLAGS, progress: () => {} });
}

async function end({ engine, proxy }: Running): Promise<void> {
  await engine.stop();
  await proxy.stop();
}

function keyOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}
