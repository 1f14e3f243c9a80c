/** A cluster for tests: API, hooks, engine, keeper, binder and kubelet in this process, on a clock that moves when told to. @module */
import { setImmediate } from "node:timers/promises";
import { createFakeClock, type FakeClock } from "./engine/fake-clock.ts";
import { type Engine, startEngine } from "./engine/engine.ts";
import type { MemoryStore } from "./engine/store-memory.ts";
import type { Api } from "../kube/api.ts";
import type { HookCalls } from "../webhook/hook.ts";
import type { HookSettings } from "../../hooks/flags.ts";
import type { ClientOptions } from "../sdk/setup/options.ts";
import type { ApiFault } from "./api/memoryapi.ts";
import { createAutoTime } from "./autotime.ts";
import { createStatusBook, type PastStatus } from "./history.ts";
import { startBinder } from "./binder.ts";
import { startHooks } from "./hooks.ts";
import { startKeeper } from "./keeper.ts";
import type { PodFate } from "./podfaults.ts";
import type { PodRuntimes } from "./podruntimes.ts";
import { type PodControls, startPods } from "./pods.ts";
import { createMemoryServer, type MemoryServer } from "./server.ts";
import { createVerbs, UNTIL_MS, type Verbs } from "./verbs.ts";

/** How a test cluster is made. */
export interface TestClusterOptions {
  /**
   * `fake`: time stands still until it is told to move. `auto`: it moves by itself while somebody waits for what a watch
   * on `api` shows, so that `await` on something that takes minutes takes none.
   *
   * @default "fake"
   */
  time?: "fake" | "auto";
  /** What the clock shows at first. @default the present, in whole seconds: clients say times by the real clock */
  start?: Date;
  /** How far time moves by itself after a request at most, in milliseconds. @default 60000 */
  autoLimitMs?: number;
  /** Namespaces that exist; the first one is that of objects which name none. @default ["default"] */
  namespaces?: [string, ...string[]];
  /** What becomes of Pods that nothing is planned for. */
  pods?: Pick<PodFate, "startMs" | "readyMs">;
  /** Settings of the hooks, as on their command line; what answers take away over time is not limited by default. */
  settings?: Partial<HookSettings>;
  /** Hooks of your own, in place of those of these names. */
  hooks?: Record<string, () => HookCalls>;
  /**
   * `local`: inside each Pod hookbox's runtime is played by this process, in a temporary folder. Commands and code run
   * **for real, on this machine and as you**; ports are this machine's. Absent: nothing is inside.
   */
  runtime?: "local";
  /** Decides what goes wrong with requests on `api`; those of the cluster's own parts are not asked about. */
  fault?: ApiFault;
}

/** A cluster in memory: verbs for a test, controls of what is usually nobody's to decide, and the API for what is tested. */
export interface TestCluster extends Verbs, AsyncDisposable {
  /** The API, in place of connections to an API server. */
  api: Api;
  /** What `new SandboxClient(cluster.client)` takes: the API, the namespace, and the way to what is inside of Pods. */
  client: Pick<ClientOptions, "api" | "namespace" | "pods">;
  /** How its time passes. */
  time: "fake" | "auto";
  /** The first of its namespaces. */
  namespace: string;
  /** Its time; `advance` moves it on by milliseconds, `step` to whatever is due next. */
  clock: FakeClock;
  /** What becomes of Pods. */
  pods: PodControls;
  /** What went wrong inside of hooks, keeper and binder, in one line each: exceptions, and answers that the guard refused. */
  faults(): string[];
  /** Returns the distinct statuses of an object, oldest first. Namespace: the first of the cluster's, by default. */
  history(kind: string, name: string, namespace?: string): PastStatus[];
  /** Ends all watches on `api`, as a server that closes connections; with an error, as if the network broke. */
  endWatches(error?: Error): void;
  /** Ends everything, open watches too. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster; it takes some milliseconds. Stop it, or make it with `await using`.
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
  const book = createStatusBook();
  server.onChange((change) => book.record(change, clock.now()));
  const hooks = startHooks({ clock, settings: options.settings ?? {}, replacements: options.hooks ?? {} });
  const pods = await startPods(store, options.pods ?? {});
  const { templateNetworkPolicy = "required" } = options.settings ?? {};
  const keeper = startKeeper(server.connect(), clock);
  await keeper.listed;
  const binder = startBinder(server.connect(), clock, undefined, templateNetworkPolicy);
  await binder.listed;
  const engine = startEngine({ store, fetch: hooks.fetch });
  const settle = () => settled(store, engine);
  const auto = createAutoTime({ clock, idle: settle, isAwaited: () => api.isAwaited(), limitMs });
  const watched: ApiFault = (request) => {
    auto.touched();
    return fault?.(request);
  };
  const api = server.connect({ fault: watched, ...(time === "auto" && { onAwaited: auto.awaited }) });
  await settle();
  const inside = options.runtime && await playRuntimes(server);
  const stop = async () => {
    [auto.stop, api.endWatches].forEach((end) => end());
    await inside?.stop();
    await keeper.stop();
    await binder.stop();
    await engine.stop();
  };
  return {
    api,
    client: { api, namespace, ...inside && { pods: inside } },
    time,
    namespace,
    clock,
    pods,
    ...createVerbs({ api: server.connect(), store, settle, namespace }),
    faults: () => [...hooks.faults, ...keeper.faults, ...binder.faults],
    history: (kind, name, where = namespace) => book.of(kind, name, where),
    endWatches: api.endWatches,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Loaded where it is asked for: it brings terminals and interpreters along. */
async function playRuntimes(server: MemoryServer): Promise<PodRuntimes> {
  const { createPodRuntimes } = await import("./podruntimes.ts");
  const runtimes = createPodRuntimes();
  server.onChange(({ isGone, object }) => isGone && object.kind === "Pod" && runtimes.end(object));
  return runtimes;
}

/** Resolves when nobody changes anything any more without time passing. */
async function settled({ version }: MemoryStore, engine: Engine): Promise<void> {
  for (let before = ""; before !== version();) {
    before = version();
    await engine.idle();
    await setImmediate();
  }
}
