/**
 * Runs the keeper: leader election, reconcilers, the health port, and the binder in the same process. The import alone
 * has no effect.
 * @module
 */
import { hostname } from "node:os";
import { KEEPER_LEASE } from "../api/installation.ts";
import { createHealthApp } from "../process/observability.ts";
import { bindingFor, serveClaims } from "../binder/run.ts";
import type { Log } from "../process/log.ts";
import { createDeletionBudget } from "../process/deletionbudget.ts";
import { connect } from "../kube/connection.ts";
import { healthAddress, runClusterProcess } from "../kube/clusterprocess.ts";
import { leaseNamespace, runWithLease, type Work } from "../kube/leader.ts";
import { cloudEventsOf } from "../cloudevents/options.ts";
import { readSecrets } from "../cloudevents/receiver.ts";
import { keep } from "./keep.ts";
import { countAction, createKeeperMetrics, type KeeperMetrics } from "./metrics.ts";
import type { KeeperOptions } from "./options.ts";
import { createRecording, type Recording } from "./observability/recording.ts";
import type { Report } from "./reconciler.ts";

const USER_AGENT = "hookbox-keeper";

/**
 * Runs the keeper until `signal` fires. Then releases the Lease and returns.
 *
 * @throws if there is no usable cluster, if the Lease's namespace does not exist, if the port is in use, or if there is
 *   no secret to sign CloudEvents with
 */
export async function runKeeper(
  options: KeeperOptions,
  signal: AbortSignal,
): Promise<void> {
  const cloudEvents = cloudEventsOf(options);
  if (cloudEvents) await readSecrets(cloudEvents.secretFile);
  await runClusterProcess(USER_AGENT, options, async ({ serveInternal, ...setup }) => {
    const { log, credentials } = setup;
    const metrics = createKeeperMetrics(options.otlpEndpoint !== undefined);
    const lease = { userAgent: USER_AGENT, onAnswer: counter(metrics) };
    const namespace = await leaseNamespace({ ...options, ...lease, credentials, log });
    const common = { ...options, ...setup, namespace };
    // One budget per process, not per term as leader: becoming the leader again must not allow more deletions.
    const budget = createDeletionBudget({ perMinute: options.maxLossesPerMinute, now: () => performance.now() });
    let isReady = true;
    const address = healthAddress(options);
    if (address) await serveInternal(createHealthApp(() => isReady && !signal.aborted, metrics), address);
    const work: Work = async (leading) => {
      isReady = false;
      metrics.leading.set(1);
      const api = connect(credentials, { signal: leading, userAgent: USER_AGENT, onAnswer: counter(metrics) });
      const [claimEvents, sandboxEvents] = [!options.disableClaimEvents, !options.disableSandboxEvents];
      const recording = createRecording(
        { api, log, metrics, claimEvents, sandboxEvents, cloudEvents, instance: hostname() },
        leading,
      );
      const binding = options.binder ? bindingFor(common, metrics.binder, leading) : undefined;
      const keeping = {
        ...common,
        ...{ binding, budget, hooksNamespace: namespace, observers: recording.handlers },
        reportFor: reporter(log, metrics, recording),
        onListed: () => isReady = true,
      };
      await Promise.all([
        keep(api, keeping, leading),
        ...(binding ? [serveClaims(binding, common, metrics.binder, leading)] : []),
      ]);
      metrics.leading.set(0);
      isReady = true;
    };
    log("info", "Starting", { server: credentials.server, leaderElection: options.leaderElection });
    await runWithLease({ ...common, ...lease, name: KEEPER_LEASE }, work, signal);
  });
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
