/** Finds the cluster of a client by a kubeconfig or the Pod's ServiceAccount. Only for Node and Deno. @module */
import { existsSync } from "node:fs";
import type { Api } from "../../kube/api.ts";
import { connect } from "../../kube/connection.ts";
import { clusterCredentials, type Credentials } from "../../kube/credentials.ts";
import { chooseKubeconfig, type Chosen, kubeconfigPlaces } from "../../kube/kubeconfig.ts";
import { InvalidArgumentError } from "../errors.ts";
import { type ClientOptions, variable } from "./clientoptions.ts";

/** A connection to a cluster. */
export interface FoundCluster {
  api: Api;
  /** Undefined if the caller passed an `api`. */
  credentials: Credentials | undefined;
  /** Namespace of the kubeconfig context or of the Pod. Undefined if there is none. */
  namespace: string | undefined;
  /** Whether this program runs in a Pod of the cluster. */
  isInside: boolean;
}

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * Finds the cluster; sends no request.
 *
 * @throws {@link InvalidArgumentError} if there is no cluster, or its kubeconfig cannot be read
 */
export async function findCluster(options: ClientOptions, userAgent: string): Promise<FoundCluster> {
  const { credentials, isInside } = await credentialsOf(options);
  const api = connect(credentials, { userAgent, signal: new AbortController().signal });
  return { api, credentials, namespace: credentials.namespace, isInside };
}

/** Searches in the order of kubectl, except that the Pod's ServiceAccount comes before `~/.kube/config`. */
async function placeOf({ kubeconfig, context }: ClientOptions): Promise<{ chosen?: Chosen; isInside: boolean }> {
  if (kubeconfig !== undefined) return { chosen: { path: kubeconfig, context }, isInside: false };
  const env = { KUBECONFIG: variable("KUBECONFIG"), HOME: variable("HOME") };
  const places = kubeconfigPlaces(env);
  const chosen = await chooseKubeconfig(places, context);
  if (chosen && env.KUBECONFIG !== undefined) return { chosen, isInside: false };
  if (variable("KUBERNETES_SERVICE_HOST") && existsSync(SERVICE_ACCOUNT_TOKEN)) return { isInside: true };
  if (chosen) return { chosen, isInside: false };
  throw new InvalidArgumentError(`Cannot find a cluster: there is no ${places.join(" nor ")}, and this is not a Pod`, {
    remedy: "Give the option `kubeconfig`, or set KUBECONFIG.",
  });
}

async function credentialsOf(options: ClientOptions): Promise<{ credentials: Credentials; isInside: boolean }> {
  try {
    const { chosen, isInside } = await placeOf(options);
    const credentials = await clusterCredentials({ kubeconfig: chosen?.path, context: chosen?.context });
    return { credentials, isInside };
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
