/** The router as a process: credentials, ports, start and end. Does nothing until it is called. @module */
import { readFileSync } from "node:fs";
import process from "node:process";
import type { Hono } from "hono";
import { connect } from "../kube/connection.ts";
import { sleep } from "../kube/backoff.ts";
import { clusterCredentials, type Credentials } from "../kube/credentials.ts";
import { createAPIProxy } from "../kube/apiproxy.ts";
import { createHealthApp } from "../process/health.ts";
import { createLog, errorFields, type Log } from "../process/log.ts";
import { serve, type Server } from "../process/serve.ts";
import { startTracing } from "../process/tracing.ts";
import { createAddressOf } from "./access/clientaddress.ts";
import { assembleRouter, type Outputs, type Router } from "./assemble.ts";
import { createDashboard, type Dashboard } from "./dashboard/dashboard.ts";
import type { RouterOptions } from "./options/options.ts";
import type { Bind } from "./options/types.ts";
import { listen, type Listening } from "./server.ts";
import { surviveExceptions } from "./survive.ts";

const USER_AGENT = "hookbox-router";
/** Certificates are replaced under our feet. */
const REREAD_MS = 60_000;

/**
 * Runs the router until `signal` fires; requests that run then may end in peace.
 *
 * @throws if there is no usable cluster, or if a port is taken
 */
export async function runRouter(options: RouterOptions, signal: AbortSignal): Promise<void> {
  const log = createLog(options.logLevel);
  const credentials = await clusterCredentials(options);
  const ending = new AbortController();
  const api = connect(credentials, { signal: ending.signal, userAgent: USER_AGENT });
  const tracing = await startTracing({ service: USER_AGENT, endpoint: options.otlpEndpoint, log });
  const outputs: Outputs = { log, write: (text) => process.stdout.write(text), tracer: tracing?.tracer };
  const router = assembleRouter(api, options, outputs, ending.signal, dashboardOf(options, credentials, log));
  surviveExceptions((error) => {
    router.metrics.exceptions.inc();
    log("error", "Cannot go on with a connection", errorFields(error));
  }, ending.signal);
  const side = await serveSide(router, options, log, signal);
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  try {
    await Promise.race([router.ready, stopped]);
    if (signal.aborted) return;
    const servers = await listenAll(router, options, log, stopped);
    await stopped;
    await sleep(options.shutdownDelay, ending.signal);
    await Promise.all(servers.map((server) => server.stop()));
  } finally {
    ending.abort();
    router.close();
    await Promise.all(side.map((server) => server.stop()));
    await tracing?.stop();
  }
  log("info", "Stopped");
}

/** Pages of sandboxes that are told apart by path would be of the dashboard's origin, and could act for its user. */
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

/** Probes and metrics, on one port or two. */
async function serveSide(
  router: Router,
  { healthProbeBindAddress: health, metricsBindAddress: metrics }: RouterOptions,
  log: Log,
  signal: AbortSignal,
): Promise<Server[]> {
  const ready = () => router.isReady() && !signal.aborted;
  const isShared = health && metrics && health.host === metrics.host && health.port === metrics.port;
  const servers: Server[] = [];
  const open = async (bind: Bind, app: Hono) => servers.push(await serve(app, { ...bind, log, graceMs: 100 }));
  if (health) await open(health, createHealthApp(ready, isShared ? router.metrics : undefined));
  if (metrics && !isShared) await open(metrics, createHealthApp(ready, router.metrics));
  return servers;
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
