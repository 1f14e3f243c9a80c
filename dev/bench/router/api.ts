/** A minimal API server with one sandbox on this machine, for the router to find. @module */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const SANDBOX = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "demo", namespace: "bench", uid: "demo", resourceVersion: "1" },
  spec: { operatingMode: "Running" },
};
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "demo",
    namespace: "bench",
    uid: "pod",
    resourceVersion: "1",
    ownerReferences: [{ apiVersion: SANDBOX.apiVersion, kind: "Sandbox", name: "demo", uid: "demo", controller: true }],
  },
  status: { phase: "Running", podIPs: [{ ip: "127.0.0.1" }], conditions: [{ type: "Ready", status: "True" }] },
};

/** Starts the server and returns its URL. Watches stay open and send no events. */
export async function startApi(): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    if (request.url?.includes("watch=true")) return response.flushHeaders();
    const items = request.url?.includes("/pods") ? [POD] : [SANDBOX];
    response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
