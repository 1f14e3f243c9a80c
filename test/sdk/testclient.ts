/** A client on a cluster in memory, and answers that get lost on the way to it. @module */
import { onTestFinished } from "vitest";
import type { Api, ApiRequest } from "../../packages/kube/api.ts";
import { SandboxClient } from "../../packages/sdk/client.ts";
import type { ClientOptions } from "../../packages/sdk/setup/clientoptions.ts";
import { createTestCluster, type TestClusterOptions } from "../../packages/testing/mod.ts";

/** Starts a cluster whose time passes by itself, and a client on it. */
export async function aClient(options: TestClusterOptions = {}, more: ClientOptions = {}) {
  const cluster = await createTestCluster({ time: "auto", ...options });
  onTestFinished(() => cluster.stop());
  const asked: string[] = [];
  let losing: (request: ApiRequest) => boolean = () => false;
  const words = (method: string, path: string) =>
    `${method} ${path.split("/").at(method === "GET" || method === "POST" || method === "WATCH" ? -1 : -2)}`;
  const api: Api = {
    now: cluster.api.now!,
    async send(request) {
      asked.push(words(request.method, request.path));
      const answer = await cluster.api.send(request);
      if (losing(request)) throw new Error("socket hang up");
      return answer;
    },
    async watch(path, query, signal) {
      asked.push(words("WATCH", path));
      return await cluster.api.watch(path, query, signal);
    },
  };
  return {
    cluster,
    client: new SandboxClient({ api, namespace: "default", ...more }),
    /** What was asked of the API server since the last call. */
    asked: () => asked.splice(0),
    /** Loses the answer to the next request that this is true of: it is carried out anyway. */
    loseAnswer(of: (request: ApiRequest) => boolean) {
      losing = (request) => {
        if (!of(request)) return false;
        losing = () => false;
        return true;
      };
    },
  };
}
