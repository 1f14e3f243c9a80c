/** A program ends once its work is done, whatever an API server has not answered by then. @module */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { startMain } from "../../mainprocess.ts";

/** An API server that tells at `/connected` when the first WebSocket has been asked for. */
async function apiServer(upgrade: (server: Server) => void): Promise<string> {
  const connected = Promise.withResolvers<void>();
  const server = createServer((_, response) => void connected.promise.then(() => response.end()));
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => sockets.add(socket)).on("upgrade", () => connected.resolve());
  upgrade(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const SERVERS: Record<string, (server: Server) => void> = {
  "never answers": () => {},
  "opens the connection and does not hear that it is closed": (server) => {
    const webSockets = new WebSocketServer({ server, handleProtocols: ([first = ""]) => first });
    webSockets.on("connection", (socket: WebSocket) => socket.pause());
  },
};

const cases = Object.entries(SERVERS).flatMap(([does, upgrade]) =>
  (["node", "deno"] as const).flatMap((runtime) =>
    ([["forward", "abort"], ["forward", "close"], ["exec", "abort"]] as const).map(([way, how]) => ({
      does,
      upgrade,
      runtime,
      way,
      how,
    }))
  )
);

test.for(cases)("$runtime, $way, $how: the API server $does", async ({ upgrade, runtime, way, how }) => {
  const server = await apiServer(upgrade);
  const flags = runtime === "deno" ? ["run", "-A", "--no-prompt", "--cached-only"] : [];
  const program = await startMain(runtime, [...flags, "test/sdk/transport/leave.ts", server, way, how], undefined);
  expect([await program.ended, program.output(), program.log()]).toEqual([0, "left\n", ""]);
});
