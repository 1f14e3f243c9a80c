/**
 * The processes that the bench of the router starts, by the first argument:
 *
 * - `backend`: a server that sends small answers and is measured with and without the router. Prints its port.
 * - `bare`: a minimal proxy on Node, to compare the router with. It has no checks, no error handling and little support
 *   for streams. Prints its port.
 * - `load`: clients that send the next request as soon as the last one is answered, each on its own connection. Prints
 *   one line of JSON: requests, failures, seconds, and percentiles of the time of a request in milliseconds. Further
 *   arguments: port, port of the sandbox, clients, milliseconds, further headers with a line break after each.
 *
 * @module
 */
import { Agent, createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import process from "node:process";
import { commandLine } from "../../../packages/process/runprocess.ts";

const [kind, ...rest] = commandLine();
if (kind === "backend") startBackend();
else if (kind === "bare") startBareProxy();
else await runLoad(rest);

function startBackend(): void {
  const server = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": 5 });
    response.end("hello");
  });
  server.keepAliveTimeout = 60_000;
  listen(server);
}

function startBareProxy(): void {
  const agent = new Agent({ keepAlive: true });
  const host = "127.0.0.1";
  listen(createServer((request, response) => {
    const { method = "GET", url = "/", rawHeaders, headers } = request;
    const port = Number(headers["x-sandbox-port"]);
    const outgoing = httpRequest({ agent, host, port, method, path: url, headers: rawHeaders }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    outgoing.end();
  }));
}

function listen(server: Server): void {
  server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
}

async function runLoad(args: string[]): Promise<void> {
  const [port = 0, target = 0, clients = 16, ms = 5000] = args.slice(0, 4).map(Number);
  const [, , , , headers = ""] = args;
  const head =
    `GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Sandbox-ID: demo\r\nX-Sandbox-Namespace: bench\r\nX-Sandbox-Port: ${target}\r\n${headers}\r\n`;
  const startedAt = performance.now();
  const end = startedAt + ms;
  const times: number[] = [];
  let failures = 0;
  const client = () =>
    new Promise<void>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      let text = "";
      let askedAt = 0;
      const ask = () => {
        askedAt = performance.now();
        if (askedAt > end) return void socket.end();
        text = "";
        socket.write(head);
      };
      socket.setNoDelay(true).once("connect", ask).once("close", () => resolve()).on("error", () => failures++);
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
        if (!text.endsWith("\r\n\r\nhello")) return;
        if (!text.startsWith("HTTP/1.1 200 ")) failures++;
        times.push(performance.now() - askedAt);
        ask();
      });
    });
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - startedAt) / 1000;
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  process.stdout.write(`${JSON.stringify({ requests: times.length, failures, seconds, p50: at(.5), p99: at(.99) })}\n`);
}
