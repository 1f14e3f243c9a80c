/**
 * A minimal proxy on Node, to compare the router with: it has no checks, no error handling and little support for
 * streams. Prints its port. @module
 */
import { Agent, createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";

const agent = new Agent({ keepAlive: true });
const server = createServer((request, response) => {
  const { method = "GET", url = "/", rawHeaders, headers } = request;
  const port = Number(headers["x-sandbox-port"]);
  const outgoing = httpRequest({ agent, host: "127.0.0.1", port, method, path: url, headers: rawHeaders }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  outgoing.end();
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
