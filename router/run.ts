/** The router as a process: credentials, ports, start and end. Does nothing until it is called. @module */
import { connect } from "../kube/connection.ts";
import { kubeconfigCredentials, podCredentials } from "../kube/credentials.ts";
import { createLog } from "../lib/log.ts";
import { serve } from "../lib/serve.ts";
import { assembleRouter } from "./assemble.ts";
import { createHealthApp } from "./health.ts";
import type { RouterOptions } from "./options.ts";
import { listen } from "./server.ts";

const USER_AGENT = "hookbox-router";

/**
 * Runs the router until `signal` fires; requests that run then may end in peace.
 *
 * @throws if there is no usable cluster, or if a port is taken
 */
export async function runRouter(options: RouterOptions, signal: AbortSignal): Promise<void> {
  const log = createLog(options.logLevel);
  const credentials = options.kubeconfig === undefined
    ? podCredentials()
    : await kubeconfigCredentials(options.kubeconfig, options.context);
  const ending = new AbortController();
  const api = connect(credentials, { signal: ending.signal, userAgent: USER_AGENT });
  const router = assembleRouter(api, options, log, ending.signal);
  const isReady = () => router.isReady() && !signal.aborted;
  const health = options.health && await serve(createHealthApp(isReady), { ...options.health, log, graceMs: 100 });
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  try {
    await Promise.race([router.ready, stopped]);
    if (signal.aborted) return;
    const { host, port } = options.http;
    const server = await listen(router.handler, { host, port, graceMs: options.shutdownMs });
    log("info", "Serving", { host, port: server.port, authzMode: options.authz.mode });
    await stopped;
    await server.stop();
  } finally {
    ending.abort();
    router.close();
    await health?.stop();
  }
  log("info", "Stopped");
}
