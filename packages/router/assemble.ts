/** Builds the router from its parts around an API server connection; `run.ts` opens the ports. @module */
import type { Tracer } from "@opentelemetry/api";
import { type Api, timeAt } from "../kube/api.ts";
import type { Log } from "../process/log.ts";
import { readAgain, readSecrets, readWhenThere } from "../process/secretfile.ts";
import { createAddressOf, createProtoOf, isProxyOnLoopback } from "./access/clientaddress.ts";
import { createClientLimits, createNamespaceLimit, createRateLimit } from "./limits.ts";
import { allowAllGate, createGate, type Gate } from "./access/gate.ts";
import { createPortForwardCheck, type OwnPod } from "./access/portforward.ts";
import { createRecheck } from "./access/recheck.ts";
import { createRuntimeCredentials } from "./access/runtimekey.ts";
import { createScopedAccess, createTokenKeys } from "./access/scopedtoken.ts";
import { createTokenReviewAccess } from "./access/tokenreview.ts";
import { createAccessLog, createObserver } from "./observe/observer.ts";
import type { Dashboard } from "./dashboard/dashboard.ts";
import { createE2BAccess, type E2BAccess } from "./e2b/access.ts";
import { createHandler, type Handler } from "./handle.ts";
import { createIdler } from "./idle/idler.ts";
import { createLookup, getSandbox, listPods, type Lookup, watchSandboxes } from "./index/sandboxapi.ts";
import { podUIDAt } from "./index/reachability.ts";
import { createSandboxIndex, type SandboxIndex } from "./index/sandboxindex.ts";
import { createRouterMetrics, type RouterMetrics } from "./observe/metrics.ts";
import { E2B_SECRET_FILE, type RouterOptions } from "./options.ts";
import { createDialler } from "./proxy/dial.ts";
import type { ProxySettings } from "./proxy/exchange.ts";
import { createHold, createLocator } from "./wake/hold.ts";
import type { Target } from "./destination.ts";
import { createTerminalPage } from "./terminal/terminalpage.ts";
import { createRecentWakes, createWaker } from "./wake/waker.ts";

/** The router without its ports. Callers open the ports and pass requests to `handler`. */
export interface Router {
  handler: Handler;
  index: SandboxIndex;
  /** True if all Sandboxes and Pods have been listed, and no watch has been silent for longer than `staleAfter`. */
  isReady(): boolean;
  /**
   * Resolves when all Sandboxes and Pods have been listed. Until then the router would answer 404 for existing ones.
   */
  ready: Promise<void>;
  metrics: RouterMetrics;
  /** Closes the idle connections to sandboxes, and writes the buffered lines of the access log. */
  close(): void;
}

/** Where the router writes: `log` takes events, `write` takes lines of the access log. */
export interface Outputs {
  log: Log;
  write(text: string): void;
  /** Records spans; absent: the router records none. */
  tracer?: Tracer | undefined;
}

/** What the router has only in some places. */
interface Surroundings {
  /** Absent: the router serves no dashboard. */
  dashboard?: Dashboard | undefined;
  /** Absent: the router does not run in a Pod, so requests through `kubectl port-forward` need a token. */
  ownPod?: OwnPod | undefined;
}

/** Builds the router. Its watches run until `signal` fires. */
export function assembleRouter(
  api: Api,
  options: RouterOptions,
  outputs: Outputs,
  signal: AbortSignal,
  { dashboard, ownPod }: Surroundings = {},
): Router {
  const { log, write, tracer } = outputs;
  const { allowLoopbackPodIp } = options;
  const namespace = options.cacheNamespace || undefined;
  const dialler = createDialler(options.dialTimeout);
  const now = () => timeAt(api);
  const index = createSandboxIndex(dialler.forget, now);
  let isListed = false;
  /** When each watch last received something from the API server, in milliseconds of the monotonic clock. */
  const heardAt = new Map<string, number>();
  const isStale = () => {
    const now = performance.now();
    return options.staleAfter > 0 && [...heardAt.values()].some((at) => now - at > options.staleAfter);
  };
  const ready = new Promise<void>((resolve) => {
    const onListed = () => resolve(void (isListed = true));
    const onHeard = (watch: string) => void heardAt.set(watch, performance.now());
    watchSandboxes(api, index, { log, signal, namespace, allowLoopbackPodIp, onListed, onHeard });
  });
  const metrics = createRouterMetrics(tracer !== undefined);
  const accessLog = options.accessLog ? createAccessLog(write) : undefined;
  const indexed = { api, index };
  const lookUpPods = createLookup((ref) => listPods(indexed, ref, allowLoopbackPodIp), log);
  const settings: ProxySettings = {
    ...options,
    dialler,
    podUIDAt: ({ namespace, name }, address) => podUIDAt(index.find(namespace, name), address),
    refreshPods: ({ namespace, name }) => lookUpPods(namespace, name),
    onRetry: ({ namespace }) => metrics.upstreamRetries.inc({ sandbox_namespace: namespace }),
    onUpstreamError: ({ namespace }, reason) => metrics.upstreamErrors.inc({ sandbox_namespace: namespace, reason }),
  };
  const idler = createIdler({
    api,
    index,
    log,
    idle: options.idle,
    identity: options.identity,
    idleCheckInterval: options.idleCheckInterval,
    runtimePort: options.runtimePort,
    onSuspended: (suspended, reason) => metrics.suspensions.inc({ sandbox_namespace: suspended, reason }),
  });
  ready.then(() => idler.run(signal));
  const recentWakes = createRecentWakes(index, options.wakeTimeout, now);
  const hold = createHold({
    recentWakes,
    index,
    now,
    lookUp: within(namespace, createLookup((ref) => getSandbox(indexed, ref), log)),
    waker: createWaker({
      api,
      index,
      log,
      signal,
      onWoken: (woken) => metrics.wakes.inc({ sandbox_namespace: woken }),
    }),
    wakeLimit: createRateLimit(options.wakesPerMinute / 60, options.wakesPerMinute),
    wake: options.wake,
    wakeTimeout: options.wakeTimeout,
    maxHeldRequests: options.maxHeldRequests,
    onHeld: (change) => metrics.now.held += change,
  });
  const locator = createLocator(index, hold, recentWakes, now);
  return {
    handler: createHandler({
      routing: { allowLoopbackPodIp, pathRoutingPrefix: options.pathRoutingPrefix, domain: options.domain },
      exists: existsIn(index),
      gate: gateOf(api, index, options, log, ownPod),
      e2b: e2bOf(index, options, log),
      browser: options.browser,
      pathRoutingRewriteResponses: options.pathRoutingRewriteResponses,
      allowedHosts: options.allowedHosts,
      dashboard,
      terminalPage: options.terminalPage ? createTerminalPage(log, options.runtimePort) : undefined,
      clientLimits: createClientLimits(options),
      recheck: createRecheck(options.authzRecheckInterval),
      protoOf: createProtoOf(options.trustedProxies),
      namespaceLimit: createNamespaceLimit(options.maxOpenRequests || Infinity, "are under way to sandboxes"),
      locator,
      runtimeCredentials: createRuntimeCredentials({ api, log, runtimePort: options.runtimePort }),
      settings,
      observer: createObserver({
        metrics,
        log: accessLog,
        traffic: idler.traffic,
        addressOf: createAddressOf(options.trustedProxies),
      }),
      traceContext: options.traceContext,
      tracer,
      log,
    }),
    metrics,
    index,
    ready,
    isReady: () => isListed && !isStale(),
    close() {
      dialler.close();
      accessLog?.flush();
    },
  };
}

function existsIn(index: SandboxIndex): (target: Target) => boolean {
  return ({ namespace, name }) => index.find(namespace, name)?.sandbox.isUnclaimed === false;
}

function gateOf(
  api: Api,
  index: SandboxIndex,
  { authz, browser, trustPortForward, trustedProxies }: RouterOptions,
  log: Log,
  pod: OwnPod | undefined,
): Gate {
  if (authz.mode === "allow-all") return allowAllGate;
  const authorise = authz.mode === "tokenreview" ? createTokenReviewAccess({ ...authz, api, log }) : createScopedAccess(
    createTokenKeys(authz, log),
    ({ namespace, name }) => index.find(namespace, name)?.sandbox.metadata.uid,
  );
  const isTrusting = trustPortForward && !isProxyOnLoopback(trustedProxies);
  return createGate(authorise, browser, pod && isTrusting ? createPortForwardCheck({ api, pod, log }) : undefined);
}

/** The runtime's ports by default, which templates may change. */
const RUNTIME_PORTS = [8888, 9090];

/** @throws if the option names a file that cannot be used */
function e2bOf(index: SandboxIndex, { e2bSecretFile: file, domain, runtimePort }: RouterOptions, log: Log): E2BAccess {
  const secrets = file === undefined
    ? readWhenThere(E2B_SECRET_FILE, log)
    : readAgain(() => readSecrets(file), "secrets", log);
  return createE2BAccess({ index, secrets, domain, runtimePorts: [...RUNTIME_PORTS, runtimePort] });
}

/** Skips the look-up in other namespaces if the router watches one namespace: it could not reach their Pods. */
function within(namespace: string | undefined, lookUp: Lookup): Lookup {
  return (asked, name) => namespace === undefined || asked === namespace ? lookUp(asked, name) : Promise.resolve();
}
