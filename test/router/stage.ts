/** A router on a free port of loopback, in front of real servers and an API server in memory. @module */
import type { Tracer } from "@opentelemetry/api";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { OwnPod } from "../../packages/router/access/portforward.ts";
import { assembleRouter, type Router } from "../../packages/router/assemble.ts";
import { readOptions, type RouterOptions } from "../../packages/router/options.ts";
import { listen } from "../../packages/router/server.ts";
import { createFakeApi, type FakeApi } from "../kube/fakeapi.ts";
import { underRole } from "../rights.ts";

export const SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes";
export const PODS = "/api/v1/namespaces/team-a/pods";

export interface Stage {
  api: FakeApi;
  router: Router;
  /** Of the access log, as they are written. */
  lines: string[];
  port: number;
  url: string;
}

/** Starts a router over what `api` holds; it goes with the test. */
export async function startRouter(
  api: FakeApi = createFakeApi(),
  { tracer, ownPod, ...over }: Partial<RouterOptions> & { tracer?: Tracer; ownPod?: OwnPod } = {},
  h2c = false,
): Promise<Stage> {
  const options = readOptions(["--authz-mode", "allow-all", "--allow-loopback-pod-ip"])!;
  const end = new AbortController();
  const settings = { ...options, upstreamRetryInitialDelay: 5, upstreamRetryMaxDelay: 20, ...over };
  const lines: string[] = [];
  const router = assembleRouter(
    underRole(api, "router"),
    settings,
    {
      log: () => {},
      write: (text) => lines.push(...text.split("\n").filter(Boolean)),
      tracer,
    },
    end.signal,
    { ownPod },
  );
  await router.ready;
  const server = await listen(router.handler, { host: "127.0.0.1", port: 0, graceMs: 0, h2c });
  onTestFinished(async () => {
    end.abort();
    api.endWatches();
    router.close();
    await server.stop();
  });
  return { api, router, lines, port: server.port, url: `http://127.0.0.1:${server.port}` };
}

/** Starts a server that plays a sandbox; it goes with the test. */
export async function startBackend(listener: RequestListener): Promise<{ port: number; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  onTestFinished(async () => {
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, server };
}

/** Puts a Sandbox of namespace `team-a` into the API server. */
export function putSandbox(
  api: FakeApi,
  name = "demo",
  over: { metadata?: object; spec?: object; status?: object } = {},
) {
  return api.put(`${SANDBOXES}/${name}`, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, namespace: "team-a", uid: `uid-${name}`, generation: 1, ...over.metadata },
    spec: { operatingMode: "Running", ...over.spec },
    ...(over.status ? { status: over.status } : {}),
  });
}

/** Puts a Pod of that Sandbox into the API server: Ready on loopback, unless `over` says otherwise. */
export function putPod(api: FakeApi, name = "demo", over: { metadata?: object; spec?: object; status?: object } = {}) {
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid: `uid-${name}`, controller: true };
  return api.put(`${PODS}/${name}`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "team-a", ownerReferences: [owner], ...over.metadata },
    spec: over.spec ?? {},
    status: {
      phase: "Running",
      podIPs: [{ ip: "127.0.0.1" }],
      conditions: [{ type: "PodScheduled", status: "True" }, { type: "Ready", status: "True" }],
      ...over.status,
    },
  });
}

/** Puts a Sandbox and its Ready Pod. */
export function putReady(api: FakeApi, name = "demo"): KubeObject {
  putPod(api, name);
  return putSandbox(api, name);
}

/** Returns the headers that name a sandbox of `team-a`. */
export function naming(port: number, name = "demo"): Record<string, string> {
  return { "X-Sandbox-ID": name, "X-Sandbox-Namespace": "team-a", "X-Sandbox-Port": String(port) };
}

/** Reads a whole request or answer. */
export async function textOf(message: IncomingMessage | Socket): Promise<string> {
  let text = "";
  for await (const chunk of message) text += (chunk as Uint8Array).toString();
  return text;
}
