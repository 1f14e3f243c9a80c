/** The keeper as a whole: credentials, election, duties, health port. Does nothing until it is called. @module */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { createHealthApp } from "../lib/health.ts";
import { createLog, type Log } from "../lib/log.ts";
import { serve, type Server } from "../lib/serve.ts";
import { type Api, isOk, pathOf } from "../kube/api.ts";
import type { Builders } from "./children.ts";
import { connect } from "../kube/connection.ts";
import { clusterCredentials, type Credentials } from "../kube/credentials.ts";
import { keep } from "./keep.ts";
import { lead, type Work } from "./leader.ts";
import { countAction, createKeeperMetrics, type KeeperMetrics } from "./metrics.ts";
import type { KeeperOptions } from "./options.ts";
import { createRecording, type Recording } from "./recording.ts";
import type { PolicyNaming } from "./policyduty.ts";
import type { Report } from "./report.ts";

/** Name of the Lease. */
export const LEASE_NAME = "hookbox-keeper";
const USER_AGENT = "hookbox-keeper";
/** Where hookbox is installed unless somebody says otherwise. */
const SYSTEM_NAMESPACE = "hookbox-system";

/**
 * Runs the keeper until `signal` fires; then gives the Lease back and returns.
 *
 * @throws if there is no usable cluster, if the Lease's namespace does not exist, or if the port is taken
 */
export async function runKeeper(
  options: KeeperOptions,
  builders: Builders & PolicyNaming,
  signal: AbortSignal,
): Promise<void> {
  const log = createLog(options.logLevel);
  const credentials = await clusterCredentials(options);
  const metrics = createKeeperMetrics();
  let isReady = true;
  const server = await serveHealth(options, metrics, () => isReady && !signal.aborted, log);
  const work: Work = async (leading) => {
    isReady = false;
    metrics.leading.set(1);
    const api = connect(credentials, { signal: leading, userAgent: USER_AGENT, onAnswer: counter(metrics) });
    const onListed = () => isReady = true;
    const { labelDomains, claimEvents } = options;
    const recording = createRecording({ api, log, metrics, claimEvents, instance: hostname() }, leading);
    const reportFor = reporter(log, metrics, recording);
    await keep(api, { builders, labelDomains, log, reportFor, observers: recording.sinks, onListed }, leading);
    metrics.leading.set(0);
    isReady = true;
  };
  log("info", "Starting", { server: credentials.server, leaderElection: options.leaderElection });
  try {
    if (options.leaderElection) await elect(options, credentials, metrics, log, work, signal);
    else await work(signal);
  } finally {
    await server?.stop();
  }
  log("info", "Stopped");
}

async function elect(
  options: KeeperOptions,
  credentials: Credentials,
  metrics: KeeperMetrics,
  log: Log,
  work: Work,
  signal: AbortSignal,
): Promise<void> {
  const { leaseSeconds: termSeconds, kubeconfig } = options;
  const timeoutMs = (termSeconds * 1000) / 5;
  const api = connect(credentials, {
    signal: new AbortController().signal,
    userAgent: USER_AGENT,
    timeoutMs,
    onAnswer: counter(metrics),
  });
  const namespace = options.namespace ?? (kubeconfig ? await localNamespace(api, log) : credentials.namespace);
  if (!namespace) throw new Error("Cannot elect a leader: this Pod's namespace is unknown, pass --namespace");
  // A Pod's name is its host name and outlives its containers: a restarted one need not wait for its own Lease.
  const identity = kubeconfig ? `${hostname()}_${randomUUID()}` : hostname();
  await lead({ api, log, namespace, name: LEASE_NAME, identity, termSeconds }, work, signal);
}

/** Outside the cluster hookbox may not be installed in it at all. */
async function localNamespace(api: Api, log: Log): Promise<string> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces", name: SYSTEM_NAMESPACE }) });
  const namespace = answer.status === 404 ? "default" : SYSTEM_NAMESPACE;
  if (!isOk(answer)) log("info", `The Lease goes to namespace ${namespace}`, { [SYSTEM_NAMESPACE]: answer.status });
  return namespace;
}

async function serveHealth(
  { port, host, kubeconfig }: KeeperOptions,
  metrics: KeeperMetrics,
  ready: () => boolean,
  log: Log,
): Promise<Server | undefined> {
  if (port === 0) return undefined;
  const address = host ?? (kubeconfig === undefined ? "0.0.0.0" : "127.0.0.1");
  return await serve(createHealthApp(ready, metrics), { port, host: address, log, graceMs: 1000 });
}

function counter(metrics: KeeperMetrics): (method: string, status: number) => void {
  return (method, status) => metrics.requests.inc({ method, code: String(status) });
}

function reporter(log: Log, metrics: KeeperMetrics, recording: Recording): (kind: string) => Report {
  return (kind) => (action, metadata, details) => {
    const { namespace, name, uid, generation } = metadata;
    countAction(metrics, action);
    recording.reported(kind, action, metadata, details);
    log("info", `${kind}: ${action}`, { namespace, name, uid, generation, ...details });
  };
}
