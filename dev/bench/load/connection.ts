/** The load's own connection to an API server. @module */
import process from "node:process";
import type { Api } from "../../../packages/kube/api.ts";
import { connect } from "../../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../../packages/kube/credentials.ts";
import type { Watched } from "../measure/processes.ts";

/** Connects with its own user agent, which distinguishes the load's requests from the implementation's. */
export async function connectLoad(kubeconfig: string, signal: AbortSignal, context?: string): Promise<Api> {
  const credentials = await kubeconfigCredentials(kubeconfig, context);
  return connect(credentials, { signal, userAgent: "hookbox-bench" });
}

/** This process, which is measured too: the load must not be the bottleneck. */
export function loadProcess(): Watched {
  return { name: "load", pid: process.pid };
}
