/** A cluster in memory behind a real port, whose Pods have one real runtime: for programs that use the SDK. @module */
import type { Server } from "node:http";
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { createTestCluster, type TestCluster } from "../../packages/testing/mod.ts";
import { serveApi } from "../kube/servedapi.ts";
import { startTestRuntime } from "../runtime/servers.ts";
import { makeTempFolder } from "../tempfolder.ts";

export interface ServedSandboxes {
  cluster: TestCluster;
  /** Path of a kubeconfig for the API server, which also forwards ports of Pods. */
  kubeconfig: string;
  /** The runtime takes requests as a router would. */
  routerUrl: string;
}

/** Starts it; it goes with the test. */
export async function serveSandboxes(): Promise<ServedSandboxes> {
  const runtime = await startTestRuntime(makeTempFolder());
  onTestFinished(() => runtime.stop());
  const cluster = await createTestCluster({ time: "auto" });
  onTestFinished(() => cluster.stop());
  const { kubeconfig, server } = await serveApi({ ...cluster.api, endWatches: cluster.endWatches });
  forwardPorts(server, runtime.restPort);
  return { cluster, kubeconfig, routerUrl: `http://127.0.0.1:${runtime.restPort}` };
}

/** Forwards every port to this one. Source: Kubernetes, WebSocket port forwarding, subprotocol `v4.channel.k8s.io`. */
function forwardPorts(server: Server, port: number): void {
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (opened) => forward(opened, port));
  });
}

function forward(opened: WebSocket, port: number): void {
  for (const channel of [0, 1]) opened.send(Uint8Array.of(channel, port & 255, port >> 8));
  const socket = connect(port, "127.0.0.1");
  socket.on("data", (bytes) => opened.send(Uint8Array.of(0, ...bytes)));
  socket.on("close", () => opened.close()).on("error", () => opened.close());
  opened.on("message", (message: Uint8Array) => void socket.write(message.subarray(1)));
  opened.on("close", () => socket.destroy());
}
