/** A connection to a real HTTP server on loopback, which goes with the test. @module */
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { connect } from "../../packages/kube/connection.ts";

/** Starts a server and connects to it. */
export async function connected(listener: RequestListener, options: { timeoutMs?: number; silenceMs?: number } = {}) {
  const server = createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pass = { headers: { Authorization: "Bearer t" }, tls: {} };
  const answers: string[] = [];
  const stop = new AbortController();
  const credentials = { server: url, namespace: undefined, current: () => Promise.resolve(pass) };
  const api = connect(credentials, {
    ...options,
    userAgent: "hookbox-test",
    signal: stop.signal,
    onAnswer: (...answer) => answers.push(answer.join(" ")),
  });
  return { api, url, server, stop, answers, credentials };
}

export const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
