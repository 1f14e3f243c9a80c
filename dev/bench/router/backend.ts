/**
 * The server behind the router: a process that sends small answers and is measured with and without the router. Prints
 * its port. @module
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";

const server = createServer((_, response) => {
  response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": 5 });
  response.end("hello");
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
