/** Finds the cluster: a kubeconfig, or the Pod this runs in. Node and Deno; loaded when it is first needed. @module */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { Api } from "../../kube/api.ts";
import { connect } from "../../kube/connection.ts";
import { type Credentials, kubeconfigCredentials, podCredentials } from "../../kube/credentials.ts";
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

/** Finds it; sends nothing. @throws {InvalidArgumentError} if there is none, or its file cannot be read */
export async function findCluster({ kubeconfig, context }: ClientOptions, userAgent: string): Promise<Cluster> {
  const { path, isInside } = placeOf(kubeconfig);
  const credentials = await credentialsOf(path, context);
  const api = connect(credentials, { userAgent, signal: new AbortController().signal });
  return { api, credentials, namespace: credentials.namespace, isInside };
}

/** As kubectl looks, but a Pod's own account comes before a file in the home folder. */
function placeOf(kubeconfig: string | undefined): { path?: string; isInside: boolean } {
  const named = kubeconfig ?? variable("KUBECONFIG")?.split(delimiter).find((file) => file !== "" && existsSync(file));
  if (named !== undefined) return { path: named, isInside: false };
  if (variable("KUBERNETES_SERVICE_HOST") && existsSync(SERVICE_ACCOUNT_TOKEN)) return { isInside: true };
  const home = join(homedir(), ".kube", "config");
  if (existsSync(home)) return { path: home, isInside: false };
  throw new InvalidArgumentError("Cannot find a cluster: there is no kubeconfig, and this is no Pod", {
    remedy: "Give the option `kubeconfig`, or set KUBECONFIG.",
  });
}

async function credentialsOf(path: string | undefined, context: string | undefined): Promise<Credentials> {
  try {
    return path === undefined ? podCredentials() : await kubeconfigCredentials(path, context);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}
