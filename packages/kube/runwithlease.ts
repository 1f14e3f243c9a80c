/** Runs work while this process holds a Lease, and chooses the Lease's namespace and the holder's identity. @module */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { SYSTEM_NAMESPACE } from "../api/installation.ts";
import type { Log } from "../process/log.ts";
import { isOk, pathOf } from "./api.ts";
import { connect, type ConnectionOptions } from "./connection.ts";
import type { Credentials } from "./credentials.ts";
import { lead, type Work } from "./leader.ts";

export interface WithLeaseOptions extends Pick<ConnectionOptions, "userAgent" | "onAnswer"> {
  credentials: Credentials;
  log: Log;
  /** Name of the Lease. */
  name: string;
  /** Namespace of the Lease, see {@link leaseNamespace}. */
  namespace: string;
  /** Identity of the holder; undefined: the Pod's name, or outside a cluster a new name at each start. */
  identity: string | undefined;
  /** Path of the kubeconfig, if this process runs outside the cluster. */
  kubeconfig: string | undefined;
  leaseSeconds: number;
  /** False: the work begins at once, without a Lease. */
  leaderElection: boolean;
}

const PATIENCE_MS = 3000;

/**
 * Finds the namespace of Leases: the one that is named, or else the Pod's. Outside a cluster it is hookbox-system, or
 * default if that does not exist. Looked up only once: later, a lookup without an answer would end a process that could
 * lead again.
 *
 * @throws {Error} if it is unknown, or if the API server does not answer
 */
export async function leaseNamespace(
  options:
    & Pick<WithLeaseOptions, "credentials" | "log" | "kubeconfig" | "leaderElection" | "userAgent" | "onAnswer">
    & {
      namespace: string | undefined;
    },
): Promise<string> {
  const { credentials, log, kubeconfig, leaderElection, userAgent, onAnswer } = options;
  if (options.namespace !== undefined) return options.namespace;
  if (kubeconfig === undefined) {
    if (credentials.namespace) return credentials.namespace;
    throw new Error("Cannot elect a leader: this Pod's namespace is unknown, pass --namespace");
  }
  if (!leaderElection) return SYSTEM_NAMESPACE;
  const signal = new AbortController().signal;
  const api = connect(credentials, { signal, userAgent, timeoutMs: PATIENCE_MS, ...(onAnswer && { onAnswer }) });
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces", name: SYSTEM_NAMESPACE }) });
  const namespace = answer.status === 404 ? "default" : SYSTEM_NAMESPACE;
  if (!isOk(answer)) log("info", `The Lease goes to namespace ${namespace}`, { [SYSTEM_NAMESPACE]: answer.status });
  return namespace;
}

/**
 * Runs the work whenever this process holds the Lease, until `signal` fires.
 *
 * @throws {Error} if the Lease's namespace does not exist, or what `work` throws
 */
export async function runWithLease(options: WithLeaseOptions, work: Work, signal: AbortSignal): Promise<void> {
  const { credentials, log, name, namespace, kubeconfig, leaseSeconds: termSeconds, userAgent, onAnswer } = options;
  if (!options.leaderElection) return await work(signal);
  const timeoutMs = (termSeconds * 1000) / 5;
  const ending = new AbortController().signal;
  const api = connect(credentials, { signal: ending, userAgent, timeoutMs, ...(onAnswer && { onAnswer }) });
  // A Pod's name is its host name and stays the same when a container restarts. So a restarted container need not wait
  // for its own Lease.
  const identity = options.identity ?? (kubeconfig ? `${hostname()}_${randomUUID()}` : hostname());
  await lead({ api, log, namespace, name, identity, termSeconds }, work, signal);
}
