/** A stage on an existing cluster with any implementation of v1beta1, which is reached through a kubeconfig. @module */
import { commandRunner } from "../load/command.ts";
import { countedRequests } from "../measure/counters.ts";
import type { Watched } from "../measure/processes.ts";
import { connectLoad, loadProcess } from "../load/connection.ts";
import type { Stage } from "./stage.ts";

export interface AttachedOptions {
  kubeconfig: string;
  context?: string | undefined;
  /** Processes of this machine to measure. */
  processes: Watched[];
  hookURLs: string[];
}

/** Attaches to the cluster. `close` ends the load's connections and leaves the cluster as it is. */
export async function openAttached(options: AttachedOptions, signal: AbortSignal): Promise<Stage> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const api = await connectLoad(options.kubeconfig, both, options.context);
  const metrics = async () => String((await api.send({ method: "GET", path: "/metrics" })).body);
  return {
    api,
    requests: countedRequests(metrics),
    processes: [...options.processes, loadProcess()],
    hookURLs: options.hookURLs,
    command: commandRunner(options.kubeconfig, options.context),
    close: () => Promise.resolve(ending.abort()),
  };
}
