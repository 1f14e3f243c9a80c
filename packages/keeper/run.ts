/** The keeper as a whole: credentials, election, reconcilers, health port, and the binder beside it. Does nothing until it is called. @module */
import { hostname } from "node:os";
import { KEEPER_LEASE } from "../api/installation.ts";
import { createHealthApp } from "../process/health.ts";
import { bindingFor, serveClaims } from "../binder/run.ts";
import { createLog, type Log } from "../process/log.ts";
import { createLossBudget } from "../webhook/lossbudget.ts";
import { serve, type Server } from "../process/serve.ts";
import { startTracing } from "../process/tracing.ts";
import { connect } from "../kube/connection.ts";
import { clusterCredentials } from "../kube/credentials.ts";
import { leaseNamespace, runWithLease } from "../kube/runwithlease.ts";
import type { Work } from "../kube/leader.ts";
import { cloudEventsOf } from "./cloudevents/options.ts";
import { readSecrets } from "./cloudevents/receiver.ts";
import { keep } from "./keep.ts";
import { countAction, createKeeperMetrics, type KeeperMetrics } from "./metrics.ts";
import type { KeeperOptions } from "./options.ts";
import { createRecording, type Recording } from "./observability/recording.ts";
import type { Report } from "./reconciler.ts";

const USER_AGENT = "hookbox-keeper";

/**
 * Runs the keeper until `signal` fires; then gives the Lease back and returns.
 *
 * @throws if there is no usable cluster, if the Lease's namespace does not exist, if the port is taken, or if there is no
 *   secret to sign CloudEvents with
 */
export async function runKeeper(
  options: KeeperOptions,
  signal: AbortSignal,
): Promise<void> {
  const log = createLog(options.logLevel);
  const cloudEvents = cloudEventsOf(options);
  if (cloudEvents) await readSecrets(cloudEvents.secretFile);
  const credentials = await clusterCredentials(options);
  const { otlpEndpoint: endpoint } = options;
  const metrics = createKeeperMetrics(endpoint !== undefined);
  const tracing = await startTracing({ service: USER_AGENT, endpoint, log });
  const lease = { userAgent: USER_AGENT, onAnswer: counter(metrics) };
  const namespace = await leaseNamespace({ ...options, ...lease, credentials, log });
  const common = { ...options, namespace, credentials, log, tracer: tracing?.tracer };
  // Of the process, not of a term as leader: who leads anew has no more to spend than before.
  const budget = createLossBudget({ perMinute: options.maxLossesPerMinute, now: () => performance.now() });
  let isReady = true;
  const server = await serveHealth(options, metrics, () => isReady && !signal.aborted, log);
  const work: Work = async (leading) => {
    isReady = false;
    metrics.leading.set(1);
    const api = connect(credentials, { signal: leading, userAgent: USER_AGENT, onAnswer: counter(metrics) });
    const onListed = () => isReady = true;
    const { allowedLabelDomains, allowedAnnotationDomains } = options;
    const [claimEvents, sandboxEvents] = [!options.disableClaimEvents, !options.disableSandboxEvents];
    const recording = createRecording(
      { api, log, metrics, claimEvents, sandboxEvents, cloudEvents, instance: hostname() },
      leading,
    );
    const reportFor = reporter(log, metrics, recording);
    const observers = recording.handlers;
    const binding = options.binder ? bindingFor(common, metrics.binder, leading) : undefined;
    await Promise.all([
      keep(
        api,
        {
          allowedLabelDomains,
          allowedAnnotationDomains,
          log,
          reportFor,
          observers,
          binding,
          budget,
          hooksNamespace: namespace,
          onListed,
        },
        leading,
      ),
      ...(binding ? [serveClaims(binding, common, metrics.binder, leading)] : []),
    ]);
    metrics.leading.set(0);
    isReady = true;
  };
  log("info", "Starting", { server: credentials.server, leaderElection: options.leaderElection });
  try {
    await runWithLease({ ...common, ...lease, name: KEEPER_LEASE }, work, signal);
  } finally {
    await server?.stop();
    await tracing?.stop();
  }
  log("info", "Stopped");
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
