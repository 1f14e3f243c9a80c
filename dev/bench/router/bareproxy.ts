/** The least that a proxy on Node can do, as a yardstick: no checks, no errors, no streams to speak of. Prints its port. @module */
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
