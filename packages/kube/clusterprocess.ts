/**
 * Sets up and shuts down what each process that connects to an API server needs: its log, credentials, tracing and
 * probes.
 * @module
 */
import type { Tracer } from "@opentelemetry/api";
import type { Hono } from "hono";
import { createLog, type Log, type LogLevel } from "../process/log.ts";
import { serve, type Server } from "../process/serve.ts";
import { startTracing } from "../process/tracing.ts";
import { clusterCredentials, type Credentials } from "./credentials.ts";

export interface ClusterProcessOptions {
  logLevel: LogLevel;
  /** Path of the kubeconfig; undefined: use the cluster in which this Pod runs. */
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Base URL of the collector of spans; undefined: no spans are sent. */
  otlpEndpoint: string | undefined;
}

/** What a process needs to work with a cluster. */
export interface ClusterProcess {
  log: Log;
  credentials: Credentials;
  tracer: Tracer | undefined;
  /**
   * Serves probes and metrics, on a port of their own, until the process ends. @throws {Error} if the port
   * is in use
   */
  serveInternal(app: Hono, address: { host: string; port: number }): Promise<void>;
}

/** How long requests for probes and metrics that are still running may take at the end. */
const GRACE_MS = 1000;

/**
 * Sets up a process, runs its work, and shuts it down.
 *
 * @param userAgent name of the process, in requests and as the service name of its spans
 * @throws {Error} if there is no usable cluster, or what `work` throws
 */
export async function runClusterProcess(
  userAgent: string,
  { logLevel, otlpEndpoint: endpoint, ...cluster }: ClusterProcessOptions,
  work: (setUp: ClusterProcess) => Promise<void>,
): Promise<void> {
  const log = createLog(logLevel);
  const credentials = await clusterCredentials(cluster);
  const tracing = await startTracing({ service: userAgent, endpoint, log });
  const servers: Server[] = [];
  try {
    await work({
      log,
      credentials,
      tracer: tracing?.tracer,
      async serveInternal(app, address) {
        servers.push(await serve(app, { ...address, log, graceMs: GRACE_MS }));
      },
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await tracing?.stop();
  }
  log("info", "Stopped");
}

/**
 * Returns the address on which a process serves probes; undefined: it does not. Outside a cluster, only this machine
 * can reach it.
 */
export function healthAddress(
  { port, host, kubeconfig }: { port: number; host: string | undefined; kubeconfig: string | undefined },
): { host: string; port: number } | undefined {
  return port === 0 ? undefined : { port, host: host ?? (kubeconfig === undefined ? "0.0.0.0" : "127.0.0.1") };
}
