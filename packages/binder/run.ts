/** Runs the binder: leader election, watches and the health port. The import alone has no effect. @module */
import { readFileSync } from "node:fs";
import type { Tracer } from "@opentelemetry/api";
import { BINDER_LEASE } from "../api/installation.ts";
import type { Api } from "../kube/api.ts";
import { connect } from "../kube/connection.ts";
import { healthAddress, runClusterProcess } from "../kube/clusterprocess.ts";
import type { Credentials } from "../kube/credentials.ts";
import { leaseNamespace, runWithLease } from "../kube/leader.ts";
import { createHealthApp, createRegistry } from "../process/observability.ts";
import type { Log } from "../process/log.ts";
import { type Binding, createBinding, watchFor } from "./binder.ts";
import { type BinderMetrics, createBinderMetrics } from "./metrics.ts";
import type { BinderOptions } from "./options.ts";
import { createRouterDelivery } from "./routerdelivery.ts";

const USER_AGENT = "hookbox-binder";
/** Timeout of a request: a request that hangs would block a worker. */
const TIMEOUT_MS = 10_000;

/** What is needed to serve claims, in the binder's process or in the keeper's. */
export type ServeClaimsOptions =
  & Pick<
    BinderOptions,
    | "kubeconfig"
    | "identity"
    | "leaderElection"
    | "allowedLabelDomains"
    | "allowedAnnotationDomains"
    | "templateNetworkPolicy"
    | "binderWorkers"
    | "binderLeaseSeconds"
    | "routerUrl"
    | "routerTokenFile"
  >
  & { namespace: string; credentials: Credentials; log: Log; tracer: Tracer | undefined };

/**
 * Runs the binder as a process until `signal` fires. Then releases the Lease and returns.
 *
 * @throws if there is no usable cluster, if the Lease's namespace does not exist, or if the port is in use
 */
export async function runBinder(options: BinderOptions, signal: AbortSignal): Promise<void> {
  await runClusterProcess(USER_AGENT, options, async ({ serveInternal, ...setup }) => {
    const registry = createRegistry(options.otlpEndpoint !== undefined);
    const metrics = createBinderMetrics(registry);
    const text = { text: () => registry.metrics(), contentType: registry.contentType };
    const address = healthAddress(options);
    let isListed = false;
    const app = createHealthApp(() => isListed && !signal.aborted, text, "not everything has been listed");
    if (address) await serveInternal(app, address);
    setup.log("info", "Starting", { server: setup.credentials.server, leaderElection: options.leaderElection });
    const namespace = await leaseNamespace({ ...options, ...setup, userAgent: USER_AGENT });
    await bindClaims({ ...options, ...setup, namespace }, metrics, () => isListed = true, signal);
  });
}

/**
 * Watches all the time, so that a standby is up to date, and serves claims while this process leads. It requests the
 * Lease only when everything has been listed: until then, a standby that is up to date serves better.
 */
async function bindClaims(
  options: ServeClaimsOptions,
  metrics: BinderMetrics,
  onListed: () => void,
  signal: AbortSignal,
): Promise<void> {
  const binding = bindingFor(options, metrics, signal);
  const { api, log } = binding;
  const isListed = Promise.withResolvers<void>();
  const listed = () => {
    binding.listed();
    onListed();
    isListed.resolve();
  };
  const watching = watchFor({ ...binding, listed }, api, log, signal);
  await Promise.race([isListed.promise, watching]);
  if (!signal.aborted) await serveClaims(binding, options, metrics, signal);
  await watching;
}

/** Creates a binder with its own connection to the API server. */
export function bindingFor(
  { credentials, ...options }: ServeClaimsOptions,
  metrics: BinderMetrics,
  signal: AbortSignal,
): Binding & { api: Api; log: Log } {
  const onAnswer = counter(metrics);
  const api = connect(credentials, { signal, userAgent: USER_AGENT, timeoutMs: TIMEOUT_MS, onAnswer });
  const deliver = createRouterDelivery(options.routerUrl, () => readToken(options.routerTokenFile));
  return { ...createBinding(api, { ...options, deliver, onServed: metrics.served }), api, log: options.log };
}

/** Serves claims while this process holds the binder's Lease. */
export async function serveClaims(
  { serve }: Binding,
  options: ServeClaimsOptions,
  metrics: BinderMetrics,
  signal: AbortSignal,
): Promise<void> {
  const { binderLeaseSeconds: leaseSeconds } = options;
  const lease = { name: BINDER_LEASE, userAgent: USER_AGENT, leaseSeconds, onAnswer: counter(metrics) };
  await runWithLease({ ...options, ...lease }, async (leading) => {
    metrics.leading.set(1);
    await serve(leading);
    metrics.leading.set(0);
  }, signal);
}

/** Reads the file for each request, because a mounted token changes in place. @returns undefined: there is none */
function readToken(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

function counter({ requests }: BinderMetrics): (method: string, status: number) => void {
  return (method, status) => requests.inc({ method, code: String(status) });
}
