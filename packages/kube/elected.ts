/** Runs work under a Lease: where that lies, and under which name this process asks for it. Decides nothing. @module */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Log } from "../process/log.ts";
import { type Api, isOk, pathOf } from "./api.ts";
import { connect, type ConnectionOptions } from "./connection.ts";
import type { Credentials } from "./credentials.ts";
import { lead, type Work } from "./leader.ts";

export interface ElectedOptions extends Pick<ConnectionOptions, "userAgent" | "onAnswer"> {
  credentials: Credentials;
  log: Log;
  /** Name of the Lease. */
  name: string;
  /** Namespace of the Lease; undefined: the Pod's, or outside a cluster hookbox-system, else default. */
  namespace: string | undefined;
  /** Under which name this process holds the Lease; undefined: its Pod's, or outside a cluster a new one. */
  identity: string | undefined;
  /** Where this process runs outside the cluster. */
  kubeconfig: string | undefined;
  leaseSeconds: number;
  /** False: the work begins at once, Lease or not. */
  leaderElection: boolean;
}

/** Where hookbox is installed unless somebody says otherwise. */
export const SYSTEM_NAMESPACE = "hookbox-system";

/**
 * Runs the work whenever this process holds the Lease, until `signal` fires.
 *
 * @throws {Error} if the Lease's namespace is unknown or does not exist, or what `work` throws
 */
export async function runElected(options: ElectedOptions, work: Work, signal: AbortSignal): Promise<void> {
  const { credentials, log, name, kubeconfig, leaseSeconds: termSeconds, userAgent, onAnswer } = options;
  if (!options.leaderElection) return await work(signal);
  const timeoutMs = (termSeconds * 1000) / 5;
  const ending = new AbortController().signal;
  const api = connect(credentials, { signal: ending, userAgent, timeoutMs, ...(onAnswer && { onAnswer }) });
  const namespace = options.namespace ?? (kubeconfig ? await localNamespace(api, log) : credentials.namespace);
  if (!namespace) throw new Error("Cannot elect a leader: this Pod's namespace is unknown, pass --namespace");
  // A Pod's name is its host name and outlives its containers: a restarted one need not wait for its own Lease.
  const identity = options.identity ?? (kubeconfig ? `${hostname()}_${randomUUID()}` : hostname());
  await lead({ api, log, namespace, name, identity, termSeconds }, work, signal);
}

/** Outside the cluster hookbox may not be installed in it at all. */
async function localNamespace(api: Api, log: Log): Promise<string> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces", name: SYSTEM_NAMESPACE }) });
  const namespace = answer.status === 404 ? "default" : SYSTEM_NAMESPACE;
  if (!isOk(answer)) log("info", `The Lease goes to namespace ${namespace}`, { [SYSTEM_NAMESPACE]: answer.status });
  return namespace;
}
