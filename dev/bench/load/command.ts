/** Runs a command in a Pod through the API server, as `kubectl exec` does. @module */
import { Buffer } from "node:buffer";
import { PassThrough } from "node:stream";
import { Exec, KubeConfig } from "@kubernetes/client-node";

/** Runs a command in a container, and resolves with its output. @throws if the command fails or cannot be run */
export type Command = (pod: { namespace: string; name: string; container: string }, argv: string[]) => Promise<string>;

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
