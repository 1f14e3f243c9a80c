/** Finds the cluster: a kubeconfig, or the Pod this runs in. Node and Deno; loaded when it is first needed. @module */
import { existsSync } from "node:fs";
import type { Api } from "../../kube/api.ts";
import { connect } from "../../kube/connection.ts";
import { clusterCredentials, type Credentials } from "../../kube/credentials.ts";
import { chooseKubeconfig, type Chosen, kubeconfigPlaces } from "../../kube/kubeconfig.ts";
import { InvalidArgumentError } from "../errors.ts";
import { variable } from "./environment.ts";
import type { ClientOptions } from "./options.ts";

/** A cluster that answers requests. */
export interface Cluster {
  api: Api;
  /** Undefined where the API was given. */
  credentials: Credentials | undefined;
  /** Of the context or the Pod; undefined if it has none. */
  namespace: string | undefined;
  /** This runs in a Pod of the cluster. */
  isInside: boolean;
}

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** Finds it; sends nothing. @throws {@link InvalidArgumentError} if there is none, or its file cannot be read */
export async function findCluster(options: ClientOptions, userAgent: string): Promise<Cluster> {
  const { credentials, isInside } = await credentialsOf(options);
  const api = connect(credentials, { userAgent, signal: new AbortController().signal });
  return { api, credentials, namespace: credentials.namespace, isInside };
}

/** As kubectl looks, but a Pod's own account comes before a file in the home folder. */
function placeOf({ kubeconfig, context }: ClientOptions): { chosen?: Chosen; isInside: boolean } {
  if (kubeconfig !== undefined) return { chosen: { path: kubeconfig, context }, isInside: false };
  const env = { KUBECONFIG: variable("KUBECONFIG"), HOME: variable("HOME") };
  const places = kubeconfigPlaces(env);
  const chosen = chooseKubeconfig(places, context);
  if (chosen && env.KUBECONFIG !== undefined) return { chosen, isInside: false };
  if (variable("KUBERNETES_SERVICE_HOST") && existsSync(SERVICE_ACCOUNT_TOKEN)) return { isInside: true };
  if (chosen) return { chosen, isInside: false };
  throw new InvalidArgumentError(`Cannot find a cluster: there is no ${places.join(" nor ")}, and this is not a Pod`, {
    remedy: "Give the option `kubeconfig`, or set KUBECONFIG.",
  });
}

async function credentialsOf(options: ClientOptions): Promise<{ credentials: Credentials; isInside: boolean }> {
  try {
    const { chosen, isInside } = placeOf(options);
    const credentials = await clusterCredentials({ kubeconfig: chosen?.path, context: chosen?.context });
    return { credentials, isInside };
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
