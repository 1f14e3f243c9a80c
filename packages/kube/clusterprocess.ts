/** What each process that talks to an API server sets up and ends: its log, credentials, spans and probes. Decides nothing. @module */
import type { Tracer } from "@opentelemetry/api";
import type { Hono } from "hono";
import { createLog, type Log, type LogLevel } from "../process/log.ts";
import { serve, type Server } from "../process/serve.ts";
import { startTracing } from "../process/tracing.ts";
import { clusterCredentials, type Credentials } from "./credentials.ts";

export interface ClusterProcessOptions {
  logLevel: LogLevel;
  /** Undefined: the cluster that this Pod runs in. */
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Base URL of the collector of spans; undefined: there is none. */
  otlpEndpoint: string | undefined;
}

/** What a process works with. */
export interface ClusterProcess {
  log: Log;
  credentials: Credentials;
  tracer: Tracer | undefined;
  /** Serves probes and metrics until the work has ended. @throws {Error} if the port is taken */
  serveSide(app: Hono, address: { host: string; port: number }): Promise<void>;
}

/** Requests to probes and metrics that run at the end may take this long. */
const GRACE_MS = 1000;

/**
 * Sets a process up, does its work, and ends what was begun for it.
 *
 * @param userAgent names the process, in requests and as the service of its spans
 * @throws {Error} if there is no usable cluster, or what `work` throws
 */
export async function runClusterProcess(
  userAgent: string,
  { logLevel, otlpEndpoint: endpoint, ...cluster }: ClusterProcessOptions,
  work: (own: ClusterProcess) => Promise<void>,
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
      async serveSide(app, address) {
        servers.push(await serve(app, { ...address, log, graceMs: GRACE_MS }));
      },
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await tracing?.stop();
  }
  log("info", "Stopped");
}

/** Returns where a process listens for probes; undefined: nowhere. Outside a cluster, only this machine reaches it. */
export function healthAddress(
  { port, host, kubeconfig }: { port: number; host: string | undefined; kubeconfig: string | undefined },
): { host: string; port: number } | undefined {
  return port === 0 ? undefined : { port, host: host ?? (kubeconfig === undefined ? "0.0.0.0" : "127.0.0.1") };
}
