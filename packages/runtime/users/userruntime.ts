/** The runtime of another user, as a child process: starts it, passes requests on to it, and asks it for variables. @module */
import type { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, type IncomingMessage, request as sendRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { type Duplex, Readable } from "node:stream";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { Context, MiddlewareHandler } from "hono";
import { USER_HEADER } from "../../api/router/protocol.ts";
import { commandLine } from "../../process/runprocess.ts";
import { Refused } from "../files/refused.ts";
import type { HTTPEnv } from "../http/httppath.ts";
import type { BoundVariables } from "../processes/command.ts";
import { safeFolder } from "../processes/pipes.ts";
import { hideInheritable } from "../processes/pty.ts";
import type { User, Users } from "./users.ts";

/** The running runtime of another user. */
export interface UserRuntime {
  name: string;
  /** Where its relative paths start. */
  workdir: string;
  /** Returns the variables that were bound there. */
  env: BoundVariables;
  /** For calls of its services. */
  transport: Transport;
  /** Its Unix socket, for HTTP. Only root can connect. */
  socketPath: string;
  agent: Agent;
  /** Resolves when it has ended, with how it ended. */
  ended: Promise<string>;
  /** Makes it stop: running requests may continue for a while. */
  stop(): void;
}

/** What the child process gets first. */
interface UserRuntimeSettings {
  user: User;
  socketPath: string;
  /** Where relative paths start. Undefined: it decides, and keeps the variables of late binding. */
  workdir: string | undefined;
}

/** Messages between the two processes. Only these two processes hold the channel. */
type Message =
  | { hello: true }
  | { settings: UserRuntimeSettings }
  | { ready: { workdir: string } }
  | { failed: string }
  | { ask: number }
  | { answer: number; env?: Record<string, string>; why?: string };

/** One end of the channel: a child process, or `process` in the child. */
type Channel = Pick<ChildProcess, "send" | "on" | "connected">;

/** Tells a process that it is the runtime of another user. It never reaches commands. */
const VARIABLE = "HOOKBOX_USER_RUNTIME";

/**
 * Starts the runtime of a user. Its process begins as root, to open its socket, and becomes the user before it serves.
 *
 * @param shared what the default user's runtime decided. Undefined: this is the runtime of the default user
 * @throws {Error} if it does not start
 */
export async function startUserRuntime(
  entry: string,
  user: User,
  shared: { workdir: string; env: BoundVariables } | undefined,
): Promise<UserRuntime> {
  const parent = safeFolder();
  if (parent === undefined) throw new Error("there is no folder for its socket: root must be able to write in /run");
  const folder = mkdtempSync(join(parent, "hookbox-user-"));
  const socketPath = join(folder, "socket");
  // A cache in /tmp could contain code of another user, and the process begins as root.
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const child = spawn(process.execPath, [...process.execArgv, entry, ...commandLine()], {
    env: { ...env, [VARIABLE]: "1" },
    stdio: ["ignore", "inherit", "inherit", "ipc", ...hideInheritable(Array(4).fill("ignore")).slice(4)],
  });
  const agent = new Agent({ keepAlive: true });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  // The child cannot remove it, because it is no longer root.
  process.once("exit", removeFolder);
  void ended.then(() => {
    agent.destroy();
    removeFolder();
    process.off("exit", removeFolder);
  });
  const ask = exchangeVariables(child, shared?.env ?? (() => ({})));
  const workdir = await new Promise<string>((resolve, reject) => {
    child.on("message", (message: Message) => {
      if ("hello" in message) child.send({ settings: { user, socketPath, workdir: shared?.workdir } });
      else if ("ready" in message) resolve(message.ready.workdir);
      else if ("failed" in message) reject(new Error(message.failed));
    });
    void ended.then((how) => reject(new Error(`its runtime ended (${how})`)));
  });
  return {
    name: user.name,
    workdir,
    env: ask,
    transport: createConnectTransport({
      baseUrl: "http://runtime",
      httpVersion: "1.1",
      nodeOptions: { socketPath, agent },
    }),
    socketPath,
    agent,
    ended,
    stop: () => child.connected && child.disconnect(),
  };
}

/** Returns whether this process was started by {@link startUserRuntime}. */
export function isUserRuntime(): boolean {
  const value = process.env[VARIABLE];
  delete process.env[VARIABLE];
  return value !== undefined && process.send !== undefined;
}

/** The parent's end of the channel, for the child process. */
export interface Parent {
  settings: UserRuntimeSettings;
  /** Returns the variables that the default user's runtime keeps. */
  env: BoundVariables;
  ready(workdir: string): void;
  /** Resolves when the message has been sent. */
  failed(why: string): Promise<void>;
  /** Aborts when the parent has ended, or wants this process to stop. */
  left: AbortSignal;
}

/** Connects to the parent. @param own returns the variables that this process keeps */
export async function connectToParent(own: BoundVariables): Promise<Parent> {
  const channel = process as unknown as Channel;
  const left = new AbortController();
  channel.on("disconnect", () => left.abort());
  const env = exchangeVariables(channel, own);
  const say = async (message: Message) =>
    await new Promise<void>((resolve) => channel.connected ? channel.send(message, () => resolve()) : resolve());
  const settings = await new Promise<UserRuntimeSettings>((resolve, reject) => {
    channel.on("message", (message: Message) => "settings" in message && resolve(message.settings));
    left.signal.addEventListener("abort", () => reject(new Error("Cannot start: the parent has ended")));
    void say({ hello: true });
  });
  return {
    settings,
    env,
    ready: (workdir) => void say({ ready: { workdir } }),
    failed: (why) => say({ failed: why }),
    left: left.signal,
  };
}

/** Answers the other process when it asks for variables, and returns a function that asks it. */
function exchangeVariables(channel: Channel, provide: BoundVariables): BoundVariables {
  const waiting = new Map<number, (answer: { env?: Record<string, string>; why?: string }) => void>();
  let asked = 0;
  const reply = async (id: number) => {
    const answer = await Promise.resolve().then(provide).then(
      (env) => ({ env }),
      (error) => ({ why: error instanceof Error ? error.message : String(error) }),
    );
    if (channel.connected) channel.send({ answer: id, ...answer });
  };
  channel.on("message", (message: Message) => {
    if ("ask" in message) void reply(message.ask);
    else if ("answer" in message) waiting.get(message.answer)?.(message);
  });
  channel.on("disconnect", () => waiting.forEach((answer) => answer({ why: "the runtime stops" })));
  return async () => {
    const id = ++asked;
    const { env, why } = await new Promise<{ env?: Record<string, string>; why?: string }>((resolve) => {
      waiting.set(id, resolve);
      if (!channel.connected) resolve({ why: "the runtime stops" });
      else channel.send({ ask: id });
    });
    waiting.delete(id);
    if (env) return env;
    throw new Refused("UNAVAILABLE", why ?? "Cannot start a process: the bound variables are not known");
  };
}

/**
 * Creates a middleware that passes the requests of other users on to their runtimes, and refuses users that callers may
 * not choose.
 *
 * @param isOwn returns whether this process answers a path for every user
 */
export function createUserGate(
  users: Users,
  isOwn: (path: string) => boolean,
  app: AppName,
): MiddlewareHandler<HTTPEnv> {
  return async (c, next) => {
    const name = c.req.header(USER_HEADER);
    users.check(name);
    if (isOwn(c.req.path)) return await next();
    const other = await users.runtimeOf(name);
    return other ? await forward(c, other, app) : await next();
  };
}

/** Headers that belong to one connection. */
const OF_CONNECTION = new Set(["connection", "keep-alive", "expect", "upgrade", "transfer-encoding"]);
const WITHOUT_BODY = [204, 304];

/** The apps of a user's runtime. Its socket is the same for all, and their paths overlap. */
type AppName = "legacy" | "rest" | "envd" | "interpreter";

/** Says which app a request is for. Only root reaches the socket, and sets the header for each request. */
export const APP_HEADER = "x-hookbox-app";

/** Returns the app that a request on the socket is for. Requests of the root process itself name none. */
export function appOf({ headers }: IncomingMessage): AppName {
  const name = headers[APP_HEADER];
  return name === "legacy" || name === "envd" || name === "interpreter" ? name : "rest";
}

/** Passes a request on to an app of another runtime, and returns its response; both bodies are streamed. */
export async function forward(
  c: Context<HTTPEnv>,
  { socketPath, agent, name }: UserRuntime,
  app: AppName,
): Promise<Response> {
  const { incoming } = c.env;
  if (!incoming) throw new TypeError("Cannot pass a request on: it has no socket");
  const { method = "GET", url: path = "/" } = incoming;
  const isChunked = incoming.headers["transfer-encoding"] !== undefined;
  const kept = Object.entries(incoming.headers).filter(([header]) => !OF_CONNECTION.has(header));
  const encoding = isChunked ? { "transfer-encoding": "chunked" } : {};
  const headers = { ...Object.fromEntries(kept), ...encoding, [APP_HEADER]: app };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = sendRequest({ socketPath, agent, method, path, headers }, resolve);
    sent.on("error", reject);
    // If the client leaves, the runtime must not wait for the rest.
    incoming.once("close", () => incoming.complete || sent.destroy());
    incoming.pipe(sent);
  }).catch((error) => {
    throw new Error(`Cannot pass the request on to the runtime of ${name}`, { cause: error });
  });
  const status = answer.statusCode ?? 500;
  const shown = new Headers();
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    const [header = "", value = ""] = answer.rawHeaders.slice(at, at + 2);
    if (!OF_CONNECTION.has(header.toLowerCase())) shown.append(header, value);
  }
  const isEmpty = method === "HEAD" || WITHOUT_BODY.includes(status);
  if (isEmpty) answer.resume();
  return new Response(isEmpty ? null : Readable.toWeb(answer) as ReadableStream, { status, headers: shown });
}

/** Passes a request on that changes to another protocol. From then on, bytes are copied in both directions. */
export function forwardUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { socketPath }: UserRuntime,
): void {
  const there = connect(socketPath, () => {
    const lines: string[] = [];
    for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
      lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}\r\n`);
    }
    there.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1");
    there.write(head);
    socket.pipe(there).pipe(socket);
  });
  there.on("error", () => socket.destroy());
  there.once("close", () => socket.destroy());
  socket.once("close", () => there.destroy());
}

/** Reads JSON from a path of the runtime. @throws if it does not answer */
export async function readFrom<T>({ socketPath, agent }: UserRuntime, path: string): Promise<T> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    sendRequest({ socketPath, agent, path }, resolve).on("error", reject).end();
  });
  let text = "";
  for await (const part of answer.setEncoding("utf8")) text += part;
  return JSON.parse(text) as T;
}
