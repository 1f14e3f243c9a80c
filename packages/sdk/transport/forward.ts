/** Forwards ports of Pods to this machine, as `kubectl port-forward` does. Node and Deno. @module */
import type { Buffer } from "node:buffer";
import { createServer, type Server, type Socket } from "node:net";
import type { Credentials } from "../../kube/credentials.ts";
import { listenOn } from "../../process/connections.ts";
import { type Channels, openChannels } from "./channels.ts";
import type { PodAccess, PodPlace } from "./direct.ts";

/** Channels of the first port. Each message starts with the number of its channel. */
const DATA_CHANNEL = 0;
const ERROR_CHANNEL = 1;
/** Length of the first message of a channel, which contains the port number. */
const PORT_BYTES = 2;

/**
 * Creates a port-forward. It has one local listener for each port of a Pod, and one WebSocket for each connection.
 *
 * Source: Kubernetes, WebSocket port forwarding, subprotocol `v4.channel.k8s.io`.
 */
export function createForward(credentials: Credentials, find: PodAccess["find"]): PodAccess {
  const listeners = new Map<string, Promise<{ server: Server; port: number }>>();
  const sockets = new Set<Socket>();
  return {
    kind: "forward",
    find,
    async reach(pod, port, localPort = 0) {
      const key = `${pod.namespace}/${pod.name}:${port}:${localPort}`;
      const listening = listeners.get(key) ?? listen(credentials, pod, { port, localPort }, sockets);
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

async function listen(
  credentials: Credentials,
  pod: PodPlace,
  { port, localPort }: { port: number; localPort: number },
  sockets: Set<Socket>,
) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket.on("error", () => socket.destroy()).once("close", () => sockets.delete(socket)));
    socket.unref();
    forward(credentials, pod, port, socket).catch(() => socket.destroy());
  });
  const local = await listenOn(server, "127.0.0.1", localPort);
  // The server could not accept a connection, for example because there are no free descriptors. Its client notices
  // that.
  server.on("error", () => {});
  // An open listener must not keep the program from ending.
  server.unref();
  return { server, port: local };
}

async function forward(
  credentials: Credentials,
  { namespace, name }: PodPlace,
  port: number,
  socket: Socket,
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/portforward?ports=${port}`;
  const begun = new Set<number>();
  // An object, because messages may arrive before `openChannels` returns.
  const opened: { channels?: Channels } = {};
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  const request = { path, protocols: ["v4.channel.k8s.io"], signal: gone.signal, isBackground: true };
  const { send } = opened.channels = await openChannels(credentials, request, {
    onClose: () => socket.destroySoon(),
    onMessage(channel, bytes) {
      const isFirst = !begun.has(channel);
      begun.add(channel);
      if ((isFirst && bytes.length === PORT_BYTES) || bytes.length === 0) return;
      if (channel === ERROR_CHANNEL) return void socket.destroy();
      if (socket.write(bytes)) return;
      opened.channels?.pause();
      socket.once("drain", () => opened.channels?.resume());
    },
  });
  socket.on("data", (chunk: Buffer) => {
    socket.pause();
    send(DATA_CHANNEL, chunk).then(() => socket.resume());
  });
  socket.resume();
}
