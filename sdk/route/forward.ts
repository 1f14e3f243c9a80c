/** Forwards ports of Pods to this machine through the API server, as `kubectl port-forward` does. Node and Deno. @module */
import { Buffer } from "node:buffer";
import { createServer, type Server, type Socket } from "node:net";
import { WebSocket } from "ws";
import type { Credentials } from "../../kube/credentials.ts";
import { listenOn } from "../../lib/ports.ts";
import type { PodAccess, PodPlace } from "./direct.ts";

/** Each message begins with its channel: of the first port these are data and errors. */
const DATA = 0;
const ERROR = 1;
/** The first message of a channel is the port's number, two bytes. */
const PORT_BYTES = 3;
/** How much may be on its way to the API server before the local side has to wait. */
const HIGH_WATER_BYTES = 1 << 20;

/**
 * Makes it. A listener on loopback for each port of each Pod, and a WebSocket for each connection to it.
 *
 * Source: Kubernetes, WebSocket port forwarding, subprotocol `v4.channel.k8s.io`.
 */
export function createForward(credentials: Credentials, find: PodAccess["find"]): PodAccess {
  const listeners = new Map<string, Promise<{ server: Server; port: number }>>();
  const sockets = new Set<Socket>();
  return {
    kind: "forward",
    find,
    async reach(pod, port) {
      const key = `${pod.namespace}/${pod.name}:${port}`;
      const listening = listeners.get(key) ?? listen(credentials, pod, port, sockets);
      listeners.set(key, listening);
      listening.catch(() => listeners.delete(key));
      return new URL(`http://127.0.0.1:${(await listening).port}`);
    },
    async close() {
      for (const listening of listeners.values()) await listening.then(({ server }) => server.close(), () => {});
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function listen(credentials: Credentials, pod: PodPlace, port: number, sockets: Set<Socket>) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket.on("error", () => socket.destroy()).once("close", () => sockets.delete(socket)));
    socket.unref();
    forward(credentials, pod, port, socket).catch(() => socket.destroy());
  });
  const local = await listenOn(server, "127.0.0.1", 0);
  // What is only listened for keeps no program from ending.
  server.unref();
  return { server, port: local };
}

async function forward(
  credentials: Credentials,
  { namespace, name }: PodPlace,
  port: number,
  socket: Socket,
): Promise<void> {
  const { headers, tls, agent } = await credentials.current();
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/portforward?ports=${port}`;
  const url = credentials.server.replace(/^http/, "ws") + path;
  const web = new WebSocket(url, "v4.channel.k8s.io", {
    headers,
    ...tls,
    ...agent ? { agent } : {},
    perMessageDeflate: false,
  });
  web.binaryType = "nodebuffer";
  web.on("error", () => socket.destroy());
  web.on("close", () => socket.destroy());
  socket.once("close", () => web.close());
  web.on("open", () => {
    socket.on("data", (chunk: Buffer) => {
      web.send(Buffer.concat([Buffer.of(DATA), chunk]), () => {
        if (socket.isPaused() && web.bufferedAmount < HIGH_WATER_BYTES) socket.resume();
      });
      if (web.bufferedAmount >= HIGH_WATER_BYTES) socket.pause();
    });
    socket.resume();
  });
  web.on("message", createReceiver(web, socket));
}

/** Passes on what comes: the port's data to the socket; an error ends it. */
function createReceiver(web: WebSocket, socket: Socket): (message: Buffer) => void {
  const begun = new Set<number>();
  return (message) => {
    const channel = message[0] ?? ERROR;
    if (!begun.has(channel)) {
      begun.add(channel);
      if (message.length === PORT_BYTES) return;
    }
    const bytes = message.subarray(1);
    if (channel === ERROR) return void (bytes.length > 0 && socket.destroy());
    if (bytes.length > 0 && !socket.write(bytes)) {
      web.pause();
      socket.once("drain", () => web.resume());
    }
  };
}
