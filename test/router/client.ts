/** Clients for tests: one that is well-behaved, and one that sends what it likes. @module */
import { Buffer } from "node:buffer";
import { type IncomingMessage, request, type RequestOptions } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { textOf } from "./stage.ts";

export interface Reply {
  status: number;
  headers: IncomingMessage["headers"];
  trailers: IncomingMessage["trailers"];
  text: string;
}

/** Sends a request on a connection of its own and reads the whole answer. */
export async function fetchFrom(port: number, options: RequestOptions, body?: string | Uint8Array): Promise<Reply> {
  const answer = await open(port, options, body);
  const text = await textOf(answer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, trailers: answer.trailers, text };
}

/** Sends a request and returns its answer as soon as its head is there. */
export function open(port: number, options: RequestOptions, body?: string | Uint8Array): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, agent: false, ...options }, resolve);
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

/** Opens a connection for HTTP/2, which trusts any certificate; it goes with the test. */
export function openSession(url: string): ClientHttp2Session {
  const client = connectHttp2(url, { rejectUnauthorized: false });
  client.on("error", () => {});
  onTestFinished(() => client.destroy());
  return client;
}

/** What comes by HTTP/2; `code` is what the stream was ended with, 0: well. */
export interface Http2Reply {
  status: number;
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
  text: string;
  code: number;
}

/** Asks by HTTP/2 in the clear, on a connection of its own, and waits for the end of the stream. */
export function fetchHttp2(port: number, headers: Record<string, string>): Promise<Http2Reply> {
  const session = connectHttp2(`http://127.0.0.1:${port}`).on("error", () => {});
  return new Promise((resolve) => {
    const stream = session.request(headers);
    const reply: Http2Reply = { status: 0, headers: {}, trailers: {}, text: "", code: 0 };
    stream.on("error", () => {});
    stream.on("response", (got) => Object.assign(reply, { status: got[":status"], headers: got }));
    stream.on("trailers", (got) => reply.trailers = got);
    stream.on("data", (chunk) => reply.text += chunk);
    stream.on("close", () => {
      session.destroy();
      resolve({ ...reply, code: stream.rstCode ?? 0 });
    });
  });
}

/** Opens a raw connection; it goes with the test. */
export async function dial(port: number, allowHalfOpen = false): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

/** Sends bytes as they are and returns all that comes until the connection ends. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const socket = await dial(port);
  socket.write(Buffer.from(bytes, "latin1"));
  let text = "";
  socket.on("data", (chunk) => text += chunk.toString("latin1"));
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

/** Returns what a socket shows once it has shown as much as is awaited. */
export async function readUntil(socket: Socket, wanted: string | RegExp): Promise<string> {
  let text = "";
  const isThere = () => typeof wanted === "string" ? text.includes(wanted) : wanted.test(text);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += (chunk as Uint8Array).toString();
    if (isThere()) break;
  }
  return text;
}
