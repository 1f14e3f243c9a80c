/** A cluster in memory with a pool, and one real runtime that every sandbox of it leads to. @module */
import { onTestFinished } from "vitest";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { aSandbox, localTransport } from "../sdk/localtransport.ts";
import { POOL } from "../sdk/pool.ts";
import { type Api, createTestCluster, type TestCluster } from "../../packages/testing/mod.ts";
import type { Setting } from "./fakecontext.ts";

/** Sandboxes to work in. */
export interface Sandboxes {
  cluster: TestCluster;
  /** Folder on this machine that is the root of every sandbox. */
  root: string;
  setting: Setting;
  /** Names of the claims that there are. */
  claims(): string[];
}

/** Starts them; they go when the test ends. @param under what the commands get in place of the API server */
export async function someSandboxes(
  files: Record<string, string> = {},
  under: (api: Api) => Api = (api) => api,
): Promise<Sandboxes> {
  const { port, root } = await aSandbox(files);
  return { ...await sandboxesAt(port, under), root: root.path };
}

/** The same, with a runtime on loopback that has been started before. */
export async function sandboxesAt(
  port: number,
  under: (api: Api) => Api = (api) => api,
): Promise<Omit<Sandboxes, "root">> {
  const cluster = await createTestCluster({ time: "auto" });
  onTestFinished(() => cluster.stop());
  await cluster.apply(POOL);
  await cluster.settle();
  const api = under(cluster.api);
  const routerUrl = `http://127.0.0.1:${port}`;
  return {
    cluster,
    claims: () => cluster.objects("SandboxClaim").map(({ metadata }) => metadata.name),
    setting: {
      api,
      connect: ({ namespace = "default" }) =>
        Promise.resolve({
          client: new SandboxClient({
            api,
            namespace,
            routerUrl,
            routerPathPrefix: "/s",
            signingSecret: "s".repeat(32),
          }),
          way: "router" as const,
          transportTo: () => Promise.resolve(localTransport(port)),
        }),
    },
  };
}
