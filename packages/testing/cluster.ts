/**
 * A cluster for tests in this process: API, hooks, fake Metacontroller, keeper, binder and kubelet, with a fake clock.
 * @module
 */
import { setImmediate } from "node:timers/promises";
import type { HookSettings } from "../../hooks/flags.ts";
import { canonicalJson } from "../api/objects/apply.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Api } from "../kube/api.ts";
import type { ClientOptions } from "../sdk/setup/clientoptions.ts";
import type { HookCalls } from "../webhook/hook.ts";
import type { ApiFault } from "./api/memoryapi.ts";
import type { RecordedChange } from "./api/watch.ts";
import { createAutoTime, createFakeClock, type FakeClock } from "./clock.ts";
import type { PodFate } from "./kubelet.ts";
import { type FakeMetacontroller, startFakeMetacontroller } from "./metacontroller/metacontroller.ts";
import type { PodRuntimes } from "./podruntimes.ts";
import { type PodControls, startPods } from "./pods.ts";
import { startBinder, startHooks, startKeeper } from "./processes.ts";
import { createMemoryServer, type MemoryServer } from "./server.ts";
import type { MemoryStore } from "./store/memory.ts";
import { createVerbs, UNTIL_MS, type Verbs } from "./verbs.ts";

/** Options of a test cluster. */
export interface TestClusterOptions {
  /**
   * `fake`: time stands still until the test moves it. `auto`: it passes automatically while a watch on `api` waits for
   * events, so that an `await` for something that takes minutes returns at once.
   *
   * @default "fake"
   */
  time?: "fake" | "auto";
  /** Start time of the clock. @default the current time in whole seconds, as clients send times of the real clock */
  start?: Date;
  /** How far time passes automatically after a request, in milliseconds. @default 60000 */
  autoLimitMs?: number;
  /** Namespaces that exist. Objects without a namespace are in the first one. @default ["default"] */
  namespaces?: [string, ...string[]];
  /** How long Pods take to start and to become Ready, unless the test plans otherwise. */
  pods?: Pick<PodFate, "startMs" | "readyMs">;
  /** Settings of the hooks, as on their command line. By default, deletions per minute are not limited. */
  settings?: Partial<HookSettings>;
  /** Your own hooks, which replace those with these names. */
  hooks?: Record<string, () => HookCalls>;
  /**
   * `local`: this process runs hookbox's runtime for each Pod, in a temporary folder. Commands and code run **for real,
   * on this machine and as you**; ports are this machine's. Absent: Pods have no runtime.
   */
  runtime?: "local";
  /** Makes requests on `api` fail. It is not called for requests of the cluster's own parts. */
  fault?: ApiFault;
}

/** A cluster in memory: actions for a test, control over Pods and time, and the API for the code under test. */
export interface TestCluster extends Verbs, AsyncDisposable {
  /** The API. Code under test uses it in place of a connection to an API server. */
  api: Api;
  /** Options for `new SandboxClient(cluster.client)`: the API, the namespace, and the way to the runtimes in Pods. */
  client: Pick<ClientOptions, "api" | "namespace" | "pods">;
  /** How time passes. */
  time: "fake" | "auto";
  /** The first namespace. */
  namespace: string;
  /** The clock: `advance` moves it by milliseconds, `step` to the next timer. */
  clock: FakeClock;
  /** Controls what happens to Pods. */
  pods: PodControls;
  /** Errors inside hooks, keeper and binder, one line each: exceptions, and answers that the loss guard refused. */
  faults(): string[];
  /** Returns the distinct statuses of an object, oldest first. Default namespace: the first of the cluster. */
  history(kind: string, name: string, namespace?: string): PastStatus[];
  /** Ends all watches on `api`, as if the server closed the connections; with an error, as if the network failed. */
  endWatches(error?: Error): void;
  /** Stops the cluster and ends open watches. */
  stop(): Promise<void>;
}

/** A status that an object had. */
export interface PastStatus {
  /** When it was written, by the cluster's clock, in milliseconds since 1970. */
  at: number;
  /** The object's resourceVersion. */
  resourceVersion: string;
  // deno-lint-ignore no-explicit-any -- tests read any field
  status: any;
}

/**
 * Starts a cluster, which takes some milliseconds. Stop it at the end, or create it with `await using`.
 *
 * ```ts run
 * import { SandboxClient } from "hookbox";
 * import { createTestCluster } from "@hookbox/testing";
 *
 * await using cluster = await createTestCluster({ time: "auto" });
 * const client = new SandboxClient({ api: cluster.api });
 * const sandbox = await client.create({ image: "busybox" });
 * await sandbox.suspend();
 * await cluster.until("Pod", sandbox.name, (pod) => pod === undefined);
 * ```
 */
export async function createTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { time = "fake", autoLimitMs: limitMs = UNTIL_MS, namespaces = ["default"], fault } = options;
  const clock = createFakeClock(options.start?.getTime() ?? Math.floor(Date.now() / 1000) * 1000);
  const server = await createMemoryServer({ clock, namespaces });
  const { store } = server;
  const [namespace] = namespaces;
  const statuses = createStatusHistory();
  server.onChange((change) => statuses.record(change, clock.now()));
  const hooks = startHooks({ clock, settings: options.settings ?? {}, replacements: options.hooks ?? {} });
  const pods = await startPods(store, options.pods ?? {});
  const { templateNetworkPolicy = "required" } = options.settings ?? {};
  const keeper = startKeeper(server.connect(), clock);
  await keeper.listed;
  const binder = startBinder(server.connect(), clock, undefined, templateNetworkPolicy);
  await binder.listed;
  const metacontroller = startFakeMetacontroller({ store, fetch: hooks.fetch });
  const settle = () => settled(store, metacontroller);
  const auto = createAutoTime({ clock, idle: settle, isAwaited: () => api.isAwaited(), limitMs });
  const watched: ApiFault = (request) => {
    auto.touched();
    return fault?.(request);
  };
  const api = server.connect({ fault: watched, ...(time === "auto" && { onAwaited: auto.awaited }) });
  await settle();
  const runtimes = options.runtime && await startRuntimes(server);
  const stop = async () => {
    [auto.stop, api.endWatches].forEach((end) => end());
    await runtimes?.stop();
    await keeper.stop();
    await binder.stop();
    await metacontroller.stop();
  };
  return {
    api,
    client: { api, namespace, ...runtimes && { pods: runtimes } },
    time,
    namespace,
    clock,
    pods,
    ...createVerbs({ api: server.connect(), store, settle, namespace }),
    faults: () => [...hooks.faults, ...keeper.faults, ...binder.faults],
    history: (kind, name, where = namespace) => statuses.of(kind, name, where),
    endWatches: api.endWatches,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Starts the runtimes. The module is loaded on demand, as it loads terminals and interpreters. */
async function startRuntimes(server: MemoryServer): Promise<PodRuntimes> {
  const { createPodRuntimes } = await import("./podruntimes.ts");
  const runtimes = createPodRuntimes();
  server.onChange(({ isGone, object }) => isGone && object.kind === "Pod" && runtimes.end(object));
  return runtimes;
}

/** Resolves when nothing changes any more until time passes. */
async function settled({ version }: MemoryStore, metacontroller: FakeMetacontroller): Promise<void> {
  for (let before = ""; before !== version();) {
    before = version();
    await metacontroller.idle();
    await setImmediate();
  }
}

interface StatusHistory {
  record(change: RecordedChange, at: number): void;
  /** Returns the distinct statuses of all objects that had this name, oldest first; `[]` if there were none. */
  of(kind: string, name: string, namespace: string): PastStatus[];
}

function createStatusHistory(): StatusHistory {
  const histories = new Map<string, { last: string; statuses: PastStatus[] }>();
  return {
    record({ object, isGone }, at) {
      const { namespace = "", name, resourceVersion = "" } = object.metadata;
      if (isGone || object["status"] === undefined) return;
      const key = `${object.kind}/${namespace}/${name}`;
      const history = histories.get(key) ?? { last: "", statuses: [] };
      const text = textOf(object);
      if (history.last === text) return;
      histories.set(key, {
        last: text,
        statuses: [...history.statuses, { at, resourceVersion, status: object["status"] }],
      });
    },
    of: (kind, name, namespace) => histories.get(`${kind}/${namespace}/${name}`)?.statuses ?? [],
  };
}

function textOf({ metadata, status }: KubeObject): string {
  return `${metadata.uid} ${canonicalJson(status)}`;
}
