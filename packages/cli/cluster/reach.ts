/** Connects a command to its cluster; the first request opens the connection. @module */
import { connect, openText } from "../../kube/connection.ts";
import { clusterCredentials } from "../../kube/credentials.ts";
import { Failure } from "../failure.ts";
import type { Cluster, Where } from "../commandcontext.ts";
import { findKubeconfig } from "./kubeconfig.ts";

/** User agent of the requests, as the API server's audit log shows it. */
const USER_AGENT = "hookbox-cli";

/** Finds the credentials and creates the connection. @throws {Failure} if there are no credentials */
export async function reachCluster(where: Where, env: Record<string, string | undefined>): Promise<Cluster> {
  const chosen = findKubeconfig(where, env);
  const credentials = await clusterCredentials({ kubeconfig: chosen?.path, context: chosen?.context })
    .catch((error: Error) => {
      throw new Failure(error.message, "Check --kubeconfig, --context and KUBECONFIG.");
    });
  const never = new AbortController().signal;
  return {
    api: connect(credentials, { signal: never, userAgent: USER_AGENT }),
    read: (path, query, signal) => openText(credentials, { path, query }, { signal, userAgent: USER_AGENT }),
    namespace: where.namespace ?? env["HOOKBOX_NAMESPACE"] ?? credentials.namespace ?? "default",
    server: credentials.server,
    source: chosen
      ? `${chosen.path}${chosen.context ? `, context ${chosen.context}` : ""}`
      : "the Pod's ServiceAccount",
  };
}
