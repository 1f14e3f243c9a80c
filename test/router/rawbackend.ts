/** A sandbox that speaks as a test likes, byte for byte. @module */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { naming } from "./stage.ts";

/** A whole answer. */
export const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/** The headers that name a sandbox of `team-a`, as they are sent. */
export const headOf = (port: number) =>
  Object.entries(naming(port)).map(([name, value]) => `${name}: ${value}\r\n`).join("");

/** A sandbox that speaks as the test likes; `text` is all that it was sent. */
export async function startRaw(onRequest: (socket: Socket, count: number) => void, port = 0) {
  const raw = { text: "", requests: 0, connections: 0, port: 0, server: undefined as Server | undefined };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    raw.connections++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      raw.text += chunk.toString("latin1");
      if (/HTTP\/1\.1\r\n/.test(chunk.toString("latin1"))) onRequest(socket, ++raw.requests);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  return Object.assign(raw, { port: (server.address() as AddressInfo).port, server });
}
