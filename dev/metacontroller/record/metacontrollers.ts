/**
 * Runs a process of the real Metacontroller for each controller, each behind its own proxy, so that every request can
 * be assigned to a controller. @module
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Api } from "../../../packages/kube/api.ts";
import type { Credentials } from "../../../packages/kube/credentials.ts";
import { listAndWatch } from "../../../packages/kube/watch.ts";
import { type KubeObject, kubeObjectSchema } from "../../../packages/api/objects/objects.ts";
import { type StartedMetacontroller, startMetacontroller } from "../start.ts";
import { type Counter, type Intercept, type Proxy, startApiProxy, type Traffic } from "./traffic.ts";

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

export interface RunningMetacontrollers {
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
export function startMetacontrollers(options: MetacontrollersOptions): RunningMetacontrollers {
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
