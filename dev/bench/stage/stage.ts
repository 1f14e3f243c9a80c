/** The environment of a run: an API server and, if they are known, the processes of the implementation. @module */
import { Buffer } from "node:buffer";
import process from "node:process";
import { PassThrough } from "node:stream";
import { Exec, KubeConfig } from "@kubernetes/client-node";
import type { Api } from "../../../packages/kube/api.ts";
import { connect } from "../../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../../packages/kube/credentials.ts";
import type { SandboxClient } from "../../../packages/sdk/client.ts";
import { countedRequests, type RequestLog } from "../measure/requests.ts";
import type { EpisodeAccess } from "../shapes/shape.ts";
import type { Watched } from "../measure/usage.ts";

export interface Stage {
  api: Api;
  requests: RequestLog;
  /** Processes to measure. The load's own comes last. */
  processes: Watched[];
  /** Base URLs of hooks that have `/metrics` about their calls. */
  hookURLs: string[];
  /** Name and version of Metacontroller or its fake, for the report; undefined: the bench has not started one. */
  metacontroller?: string;
  /** Runs a command in a Pod; undefined: the nodes run no containers. */
  command?: Command;
  /** The SDK, which uses port-forward; undefined: the nodes do not run the runtime. */
  sdk?: SandboxClient;
  /** How clients of episodes reach the cluster; undefined: there is no router. */
  access?: EpisodeAccess;
  /** Takes CPU profiles from now on; undefined: the options do not ask for them. */
  profile?: () => Promise<void>;
  close(): Promise<void>;
}

/** Runs a command in a container, and resolves with its output. @throws if the command fails or cannot be run */
export type Command = (pod: { namespace: string; name: string; container: string }, argv: string[]) => Promise<string>;

interface AttachedOptions {
  kubeconfig: string;
  context?: string | undefined;
  /** Processes of this machine to measure. */
  processes: Watched[];
  hookURLs: string[];
}

/** Creates the runner for a cluster. Every call opens its own connection. */
export function commandRunner(kubeconfig: string, context?: string): Command {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  if (context !== undefined) config.setCurrentContext(context);
  const exec = new Exec(config);
  return async ({ namespace, name, container }, argv) => {
    const output = new PassThrough();
    const chunks: Buffer[] = [];
    output.on("data", (chunk: Buffer) => chunks.push(chunk));
    const ended = Promise.withResolvers<void>();
    const socket = await exec.exec(namespace, name, container, argv, output, output, null, false, (status) => {
      if (status.status === "Success") ended.resolve();
      else ended.reject(new Error(`Cannot run ${argv[0]} in Pod ${name}: ${status.message}`));
    });
    socket.on("error", ended.reject);
    await ended.promise;
    socket.close();
    return Buffer.concat(chunks).toString();
  };
}

/** Connects with its own user agent, which distinguishes the load's requests from the implementation's. */
export async function connectLoad(kubeconfig: string, signal: AbortSignal, context?: string): Promise<Api> {
  const credentials = await kubeconfigCredentials(kubeconfig, context);
  return connect(credentials, { signal, userAgent: "hookbox-bench" });
}

/** This process, which is measured too: the load must not be the bottleneck. */
export function loadProcess(): Watched {
  return { name: "load", pid: process.pid };
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
