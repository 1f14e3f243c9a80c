/** The router as a process: credentials, ports, start and end. Does nothing until it is called. @module */
import { readFileSync } from "node:fs";
import { connect } from "../kube/connection.ts";
import { kubeconfigCredentials, podCredentials } from "../kube/credentials.ts";
import { createLog, errorFields, type Log } from "../lib/log.ts";
import { serve } from "../lib/serve.ts";
import { assembleRouter } from "./assemble.ts";
import type { Handler } from "./handle.ts";
import { createHealthApp } from "./health.ts";
import type { RouterOptions } from "./options.ts";
import { listen, type Listening } from "./server.ts";

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
    const servers = await listenAll(router.handler, options, log, stopped);
    await stopped;
    await Promise.all(servers.map((server) => server.stop()));
  } finally {
    ending.abort();
    router.close();
    await health?.stop();
  }
  log("info", "Stopped");
}

async function listenAll(
  handler: Handler,
  options: RouterOptions,
  log: Log,
  stopped: Promise<void>,
): Promise<Listening[]> {
  const { http, https, h2c, shutdownMs: graceMs, authz } = options;
  const plain = await listen(handler, { ...http, graceMs, h2c });
  log("info", "Serving", { host: http.host, port: plain.port, authzMode: authz.mode });
  if (!https) return [plain];
  const read = () => ({ cert: readFileSync(https.certFile), key: readFileSync(https.keyFile) });
  const secure = await listen(handler, { ...https.bind, graceMs, h2c: false, tls: read() });
  log("info", "Serving with TLS", { host: https.bind.host, port: secure.port });
  const timer = setInterval(() => {
    try {
      secure.renew(read());
    } catch (error) {
      log("error", "Cannot read the certificate again", { ...errorFields(error), stack: undefined });
    }
  }, REREAD_MS);
  stopped.then(() => clearInterval(timer));
  return [plain, secure];
}
