/** Runs work under a Lease: where that lies, and under which name this process asks for it. Decides nothing. @module */
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
  /** Under which name this process holds the Lease; undefined: its Pod's, or outside a cluster a new one. */
  identity: string | undefined;
  /** Where this process runs outside the cluster. */
  kubeconfig: string | undefined;
  leaseSeconds: number;
  /** False: the work begins at once, Lease or not. */
  leaderElection: boolean;
}

const PATIENCE_MS = 3000;

/**
 * Finds the namespace of Leases: the one that is named, else the Pod's, or outside a cluster hookbox-system, and default
 * where that does not exist. Asked once: who leads anew is not to end because nobody answers at that moment.
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
  // A Pod's name is its host name and outlives its containers: a restarted one need not wait for its own Lease.
  const identity = options.identity ?? (kubeconfig ? `${hostname()}_${randomUUID()}` : hostname());
  await lead({ api, log, namespace, name, identity, termSeconds }, work, signal);
}
