/** Runs the router as a process: opens its ports, serves until a signal, and shuts down gracefully. @module */
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import process from "node:process";
import { connect } from "../kube/connection.ts";
import { sleep } from "../kube/backoff.ts";
import { type ClusterProcess, runClusterProcess } from "../kube/clusterprocess.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createAPIProxy } from "../kube/apiproxy.ts";
import { createHealthApp } from "../process/observability.ts";
import { errorFields, type Log } from "../process/log.ts";
import { createAddressOf } from "./access/clientaddress.ts";
import type { OwnPod } from "./access/portforward.ts";
import { assembleRouter, type Outputs, type Router } from "./assemble.ts";
import { createDashboard, type Dashboard } from "./dashboard/dashboard.ts";
import type { RouterOptions } from "./options.ts";
import { listen, type Listening } from "./server.ts";
import { installErrorBoundary } from "./errorboundary.ts";

const USER_AGENT = "hookbox-router";
/** How often the router reads the certificate files again, in milliseconds. Somebody may have renewed them. */
const CERT_RELOAD_MS = 60_000;

/**
 * Runs the router until the signal is aborted. Requests that are then running have `shutdownTimeout` to finish.
 *
 * @throws if there is no usable cluster, or if a port is in use
 */
export async function runRouter(options: RouterOptions, signal: AbortSignal): Promise<void> {
  await runClusterProcess(USER_AGENT, options, async ({ log, credentials, tracer, serveInternal }) => {
    const shutdown = new AbortController();
    const api = connect(credentials, { signal: shutdown.signal, userAgent: USER_AGENT });
    const outputs: Outputs = { log, write: (text) => process.stdout.write(text), tracer };
    const dashboard = dashboardOf(options, credentials, log);
    const ownPod = ownPodOf(options, credentials);
    const router = assembleRouter(api, options, outputs, shutdown.signal, { dashboard, ownPod });
    installErrorBoundary((error) => {
      router.metrics.exceptions.inc();
      log("error", "Unexpected error in a connection", errorFields(error));
    }, shutdown.signal);
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    try {
      await serveProbes(router, options, serveInternal, signal);
      await Promise.race([router.ready, stopped]);
      if (signal.aborted) return;
      const servers = await listenAll(router, options, log, stopped);
      await stopped;
      await sleep(options.shutdownDelay, shutdown.signal);
      const stopping = servers.map((server) => server.stop());
      dashboard?.drain();
      await Promise.all(stopping);
    } finally {
      shutdown.abort();
      router.close();
    }
  });
}

/** Returns undefined if the router does not run in a Pod. The name of a Pod is the host name of its containers. */
function ownPodOf({ kubeconfig }: RouterOptions, { namespace }: Credentials): OwnPod | undefined {
  if (kubeconfig !== undefined || namespace === undefined) return undefined;
  const addresses = Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address));
  return { namespace, name: hostname(), addresses };
}

/**
 * Returns undefined if the dashboard is off. It is always off with path routing: pages of sandboxes would have the
 * origin of the dashboard, and could act with the rights of its user.
 */
function dashboardOf(options: RouterOptions, credentials: Credentials, log: Log): Dashboard | undefined {
  if (!options.dashboard || options.pathRoutingPrefix !== undefined) return undefined;
  return createDashboard({
    apiProxy: createAPIProxy(credentials, `${USER_AGENT}-dashboard`),
    log,
    domain: options.domain,
    addressOf: createAddressOf(options.trustedProxies),
    settings: {
      clusterName: options.dashboardClusterName,
      tokenStorage: options.dashboardTokenStorage,
      previews: previewsOf(options),
    },
    authzRecheckInterval: options.authzRecheckInterval,
  });
}

function previewsOf({ domain, authz, browser: { authzCookieQueryParam: tokenParameter } }: RouterOptions) {
  if (domain === undefined) return undefined;
  const isOpen = authz.mode === "allow-all" || (authz.mode === "tokenreview" && !authz.authzTokenreviewRequireToken);
  return { domain, isOpen, ...tokenParameter === undefined ? {} : { tokenParameter } };
}

/** Serves probes and metrics, on one port if both have the same address. */
async function serveProbes(
  router: Router,
  { healthProbeBindAddress: health, metricsBindAddress: metrics }: RouterOptions,
  serveInternal: ClusterProcess["serveInternal"],
  signal: AbortSignal,
): Promise<void> {
  const ready = () => router.isReady() && !signal.aborted;
  const isShared = health && metrics && health.host === metrics.host && health.port === metrics.port;
  if (health) await serveInternal(createHealthApp(ready, isShared ? router.metrics : undefined), health);
  if (metrics && !isShared) await serveInternal(createHealthApp(ready, router.metrics), metrics);
}

async function listenAll(
  router: Router,
  options: RouterOptions,
  log: Log,
  stopped: Promise<void>,
): Promise<Listening[]> {
  const { handler, metrics } = router;
  const { httpBindAddress: http, https, h2c, shutdownTimeout: graceMs, authz } = options;
  const httpServer = await listen(handler, { ...http, graceMs, h2c });
  log("info", "Serving", { host: http.host, port: httpServer.port, authzMode: authz.mode });
  if (!https) return [httpServer];
  const readCertificate = () => ({ cert: readFileSync(https.certFile), key: readFileSync(https.keyFile) });
  const tlsServer = await listen(handler, { ...https.bind, graceMs, h2c: false, tls: readCertificate() });
  log("info", "Serving with TLS", { host: https.bind.host, port: tlsServer.port });
  const timer = setInterval(() => {
    try {
      tlsServer.setCertificate(readCertificate());
      metrics.certReloads.inc({ outcome: "success" });
    } catch (error) {
      metrics.certReloads.inc({ outcome: "error" });
      log("error", "Cannot reload the certificate", { ...errorFields(error), stack: undefined });
    }
  }, CERT_RELOAD_MS);
  stopped.then(() => clearInterval(timer));
  return [httpServer, tlsServer];
}
