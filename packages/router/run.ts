/** Runs the router as a process: opens its ports, serves until a signal, and shuts down gracefully. @module */
import { readFileSync } from "node:fs";
import process from "node:process";
import { connect } from "../kube/connection.ts";
import { sleep } from "../kube/backoff.ts";
import { type ClusterProcess, runClusterProcess } from "../kube/clusterprocess.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createAPIProxy } from "../kube/apiproxy.ts";
import { createHealthApp } from "../process/observability.ts";
import { errorFields, type Log } from "../process/log.ts";
import { createAddressOf } from "./access/clientaddress.ts";
import { assembleRouter, type Outputs, type Router } from "./assemble.ts";
import { createDashboard, type Dashboard } from "./dashboard/dashboard.ts";
import type { RouterOptions } from "./options.ts";
import { listen, type Listening } from "./server.ts";
import { installErrorBoundary } from "./errorboundary.ts";

const USER_AGENT = "hookbox-router";
/** How often the certificate files are read again, in milliseconds: they can be replaced while the router runs. */
const REREAD_MS = 60_000;

/**
 * Runs the router until `signal` fires. Then running requests get `shutdownTimeout` to finish.
 *
 * @throws if there is no usable cluster, or if a port is taken
 */
export async function runRouter(options: RouterOptions, signal: AbortSignal): Promise<void> {
  await runClusterProcess(USER_AGENT, options, async ({ log, credentials, tracer, serveSide }) => {
    const ending = new AbortController();
    const api = connect(credentials, { signal: ending.signal, userAgent: USER_AGENT });
    const outputs: Outputs = { log, write: (text) => process.stdout.write(text), tracer };
    const router = assembleRouter(api, options, outputs, ending.signal, dashboardOf(options, credentials, log));
    installErrorBoundary((error) => {
      router.metrics.exceptions.inc();
      log("error", "Cannot go on with a connection", errorFields(error));
    }, ending.signal);
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    try {
      await serveProbes(router, options, serveSide, signal);
      await Promise.race([router.ready, stopped]);
      if (signal.aborted) return;
      const servers = await listenAll(router, options, log, stopped);
      await stopped;
      await sleep(options.shutdownDelay, ending.signal);
      await Promise.all(servers.map((server) => server.stop()));
    } finally {
      ending.abort();
      router.close();
    }
  });
}

/**
 * The dashboard is off with path routing: sandbox pages would have the dashboard's origin and could act for its user.
 */
function dashboardOf(options: RouterOptions, credentials: Credentials, log: Log): Dashboard | undefined {
  if (!options.dashboard || options.pathRoutingPrefix !== undefined) return undefined;
  return createDashboard({
    apiProxy: createAPIProxy(credentials, `${USER_AGENT}-dashboard`),
    log,
    domain: options.domain,
    addressOf: createAddressOf(options.trustedProxies),
    authzRecheckInterval: options.authzRecheckInterval,
  });
}

/** Serves probes and metrics, on one port if both have the same address. */
async function serveProbes(
  router: Router,
  { healthProbeBindAddress: health, metricsBindAddress: metrics }: RouterOptions,
  serveSide: ClusterProcess["serveSide"],
  signal: AbortSignal,
): Promise<void> {
  const ready = () => router.isReady() && !signal.aborted;
  const isShared = health && metrics && health.host === metrics.host && health.port === metrics.port;
  if (health) await serveSide(createHealthApp(ready, isShared ? router.metrics : undefined), health);
  if (metrics && !isShared) await serveSide(createHealthApp(ready, router.metrics), metrics);
}

async function listenAll(
  router: Router,
  options: RouterOptions,
  log: Log,
  stopped: Promise<void>,
): Promise<Listening[]> {
  const { handler, metrics } = router;
  const { httpBindAddress: http, https, h2c, shutdownTimeout: graceMs, authz } = options;
  const plain = await listen(handler, { ...http, graceMs, h2c });
  log("info", "Serving", { host: http.host, port: plain.port, authzMode: authz.mode });
  if (!https) return [plain];
  const read = () => ({ cert: readFileSync(https.certFile), key: readFileSync(https.keyFile) });
  const secure = await listen(handler, { ...https.bind, graceMs, h2c: false, tls: read() });
  log("info", "Serving with TLS", { host: https.bind.host, port: secure.port });
  const timer = setInterval(() => {
    try {
      secure.renew(read());
      metrics.certReloads.inc({ outcome: "success" });
    } catch (error) {
      metrics.certReloads.inc({ outcome: "error" });
      log("error", "Cannot read the certificate again", { ...errorFields(error), stack: undefined });
    }
  }, REREAD_MS);
  stopped.then(() => clearInterval(timer));
  return [plain, secure];
}
