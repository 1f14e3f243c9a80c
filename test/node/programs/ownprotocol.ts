/** A program for a Pod: a server that speaks a protocol of its own after an Upgrade, and tells how connections ended. @module */
import { createServer } from "node:http";
import type { Socket } from "node:net";

/** What each connection has brought, and how it ended, by the path that it asked for. */
const heard = new Map<string, string>();

const server = createServer((request, response) => response.end(heard.get(request.url ?? "") ?? ""));

server.on("upgrade", (request, socket: Socket) => {
  const path = request.url ?? "";
  let text = "";
  socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n");
  if (path === "/ends-first") socket.end("my last word");
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    text += chunk;
    if (path === "/breaks") socket.resetAndDestroy();
  });
  socket.once("end", () => {
    heard.set(path, `${text}, and an end`);
    socket.end(`you said: ${text}`);
  });
  socket.once("close", () => heard.has(path) || heard.set(path, `${text}, and no end`));
});

server.listen(9000);
