/**
 * Runs clients as a process. Each client has its own connection, and sends a request as soon as the last one is
 * answered. Prints one line of JSON: requests, failures, seconds, and the time of each request in milliseconds, sorted.
 * Arguments: port, sandbox's port, clients, milliseconds.
 *
 * @module
 */
import { connect } from "node:net";
import process from "node:process";
import { commandLine } from "../../../packages/process/serve.ts";

const [port = 0, target = 0, clients = 16, ms = 5000] = commandLine().map(Number);
const HEAD =
  `GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Sandbox-ID: demo\r\nX-Sandbox-Namespace: bench\r\nX-Sandbox-Port: ${target}\r\n\r\n`;
const end = performance.now() + ms;
const times: number[] = [];
let failures = 0;

function client(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    let askedAt = 0;
    const ask = () => {
      askedAt = performance.now();
      if (askedAt > end) return void socket.end();
      text = "";
      socket.write(HEAD);
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
}

const startedAt = performance.now();
await Promise.all(Array.from({ length: clients }, client));
const seconds = (performance.now() - startedAt) / 1000;
const sorted = Float64Array.from(times).sort();
const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
process.stdout.write(`${JSON.stringify({ requests: times.length, failures, seconds, p50: at(.5), p99: at(.99) })}\n`);
