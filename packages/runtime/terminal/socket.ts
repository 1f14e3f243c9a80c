/** `GET /v1/terminal` as a WebSocket, for browsers: bytes in binary frames, the rest as JSON. @module */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Root } from "../confine.ts";
import { USER_HEADER } from "../../api/router/protocol.ts";
import { type RefusalCode, Refused, refusedFor } from "../files/refused.ts";
import { CHALLENGE, pageRefusal, STOPPING, tokenRefusal } from "../http/guard.ts";
import { composeEnvironment, findExecutable, SpawnError } from "../processes/command.ts";
import type { Process, Processes } from "../processes/processes.ts";
import { serveTerminal } from "./frames.ts";
import type { TokenCheck } from "../token.ts";
import { runtimeOfProcess } from "../users/services.ts";
import { forwardUpgrade } from "../users/userruntime.ts";
import { ONE_USER, type Users } from "../users/users.ts";

/** What terminals need. */
export interface TerminalSocketOptions {
  root: Root;
  processes: Processes;
  token?: TokenCheck | undefined;
  /** Other names of this machine; see packages/process/hosts.ts. @default {[]} */
  allowedHosts?: readonly string[];
  /** Absent: every terminal runs in this process. */
  users?: Users;
  /** Aborts when the runtime begins to stop. Absent: it never stops. */
  stop?: AbortSignal;
}

/** For `shouldUpgradeCallback` and the event `upgrade` of an HTTP/1.1 server. */
export interface TerminalSockets {
  /** Returns whether a request asks for a terminal. */
  wants(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

/** The WebSocket subprotocol. A browser sends its token as a second subprotocol, because it cannot set headers. */
export const TERMINAL_PROTOCOL = "hookbox.terminal.v1";
const PATH = "/v1/terminal";
const DEFAULT_SIZE = { cols: "80", rows: "24" };
/** Largest frame from the client, in bytes. */
const LONGEST_FRAME = 1 << 20;
/**
 * Creates the endpoint. Query parameters: `cols`, `rows`, `cwd`, `user`, and `command` for `/bin/sh -c`; without `command`, a
 * shell starts. With `process_id` and `offset`, the socket reads and writes a detached process, which continues when
 * the socket closes.
 *
 * Frames from the runtime: first `{"process":{"processId"}}`, then binary output and `{"truncated":{"beforeOffset"}}`,
 * and last `{"exit":{"exitCode","signal"}}`. Frames to the runtime: binary input, `{"resize":{"cols","rows"}}`.
 *
 * `window` limits how many bytes are sent but not acknowledged. The program has to wait until the client sends
 * `{"taken":{"bytes"}}` with the number of bytes that it has processed since the beginning. Without `window`, a client
 * draws all output of a program that floods the terminal before it learns that the program has ended.
 */
export function createTerminalSockets(options: TerminalSocketOptions): TerminalSockets {
  const { processes, users = ONE_USER } = options;
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: LONGEST_FRAME,
    handleProtocols: (offered) => offered.has(TERMINAL_PROTOCOL) && TERMINAL_PROTOCOL,
  });
  return {
    wants: (request) => request.headers.upgrade?.toLowerCase() === "websocket" && partsOf(request).path === PATH,
    upgrade: async (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      try {
        const { query } = partsOf(request);
        if (options.stop?.aborted) throw new Refused("UNAVAILABLE", STOPPING);
        await admit(request, options);
        const other = await runtimeFor(request, query, users, processes);
        if (other) return forwardUpgrade(request, socket, head, other);
        const window = windowOf(query.get("window"));
        const entry = await open(query, options);
        const joined = { offset: Number(query.get("offset") ?? 0), window };
        let isJoined = false;
        server.handleUpgrade(request, socket, head, (webSocket) => {
          isJoined = true;
          void serveTerminal(webSocket, entry, processes, joined);
        });
        // The handshake failed and was answered, so nothing else would end the shell.
        if (!isJoined && !entry.log) entry.kill();
      } catch (error) {
        refuse(socket, asRefused(error));
      }
    },
  };
}

/** Does not use a URL parser, which throws for paths that clients may send, such as `//`. */
function partsOf({ url = "/" }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = "", ...query] = url.split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
}

/** A browser names the user in the query, because it cannot set headers. */
async function runtimeFor({ headers }: IncomingMessage, query: URLSearchParams, users: Users, processes: Processes) {
  const name = query.get("user") ?? headers[USER_HEADER.toLowerCase()]?.toString();
  const id = query.get("process_id");
  users.check(name);
  return id !== null && !name ? await runtimeOfProcess({ users, processes }, Number(id)) : await users.runtimeOf(name);
}

function windowOf(text: string | null): number | undefined {
  if (text === null) return undefined;
  const window = Number(text);
  if (Number.isSafeInteger(window) && window > 0) return window;
  throw new Refused("INVALID_ARGUMENT", `Cannot keep a window of "${text}": it is not a number of bytes`);
}

async function open(query: URLSearchParams, { root, processes }: TerminalSocketOptions): Promise<Process> {
  const id = query.get("process_id");
  if (id !== null) {
    const entry = processes.get(Number(id));
    if (!entry?.log) throw new Refused("NOT_FOUND", `Cannot attach to process "${id}": none of that id is detached`);
    return entry;
  }
  const cwd = await root.resolve(query.get("cwd") || root.workdir);
  const command = query.get("command");
  const path = composeEnvironment({ cwd, env: {} })["PATH"] ?? "";
  const argv = command ? ["/bin/sh", "-c", command] : [await findExecutable("bash", cwd, path).catch(() => "/bin/sh")];
  const [cols, rows] = [query.get("cols") ?? DEFAULT_SIZE.cols, query.get("rows") ?? DEFAULT_SIZE.rows].map(Number);
  return await processes.start({ argv, cwd, env: {} }, { size: { cols: cols ?? 0, rows: rows ?? 0 } });
}

/** Allows requests with the token. If no token is mounted, refuses pages of another origin. */
async function admit(
  { headers, socket }: IncomingMessage,
  { token, allowedHosts = [] }: TerminalSocketOptions,
): Promise<void> {
  const { authorization } = headers;
  const offered = headers["sec-websocket-protocol"]?.split(",").map((one) => one.trim()) ?? [];
  const encoded = offered.find((one) => one.startsWith("hookbox.bearer."))?.slice("hookbox.bearer.".length);
  const bearer = encoded === undefined ? authorization : `Bearer ${Buffer.from(encoded, "base64url")}`;
  const verdict = await token?.(bearer) ?? "none";
  if (verdict === "missing" || verdict === "wrong") throw new Refused("UNAUTHENTICATED", tokenRefusal(verdict));
  if (verdict !== "none") return;
  const why = pageRefusal((name) => headers[name]?.toString(), socket.localAddress, allowedHosts);
  if (why !== undefined) throw new Refused("PERMISSION_DENIED", why);
}

const STATUS: Partial<Record<RefusalCode, string>> = {
  INVALID_ARGUMENT: "400 Bad Request",
  UNAUTHENTICATED: "401 Unauthorized",
  PERMISSION_DENIED: "403 Forbidden",
  NOT_FOUND: "404 Not Found",
  UNAVAILABLE: "503 Service Unavailable",
};
const CODE_OF_SPAWN_ERROR: Partial<Record<SpawnError["code"], RefusalCode>> = {
  "not-found": "NOT_FOUND",
  "not-executable": "PERMISSION_DENIED",
  "bad-cwd": "INVALID_ARGUMENT",
  invalid: "INVALID_ARGUMENT",
};

function asRefused(error: unknown): Refused {
  const code = error instanceof SpawnError ? CODE_OF_SPAWN_ERROR[error.code] ?? "INTERNAL" : "INTERNAL";
  return refusedFor(error, "cwd") ?? new Refused(code, error instanceof SpawnError ? error.message : "Internal error");
}

/** Refuses the upgrade with an HTTP response like those of the file endpoints. */
function refuse(socket: Duplex, { code, message }: Refused): void {
  const body = JSON.stringify({ code, message });
  const headers = {
    connection: "close",
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...code === "UNAUTHENTICATED" ? CHALLENGE : {},
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${STATUS[code] ?? "500 Internal Server Error"}\r\n${lines.join("")}\r\n${body}`);
}
