/**
 * The MCP server over HTTP: checks access, finds the session of a request, and passes the request on. Limits the number
 * of sessions, and ends idle ones. @module
 */
import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { WebStandardStreamableHTTPServerTransport as Transport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { Clock } from "../../process/clock.ts";
import { KEEP_ALIVE_MS, listenOn } from "../../process/connections.ts";
import { type Address, type Authenticate, createSourceCheck, hostPort, type Sources } from "./access.ts";
import type { SessionServer } from "./server.ts";

/** Options of the server. */
export interface HTTPOptions extends Omit<AppParts, "refusal"> {
  address: Address;
  sources: Sources;
}

/** A running server. */
export interface HTTPServer {
  url: string;
  port: number;
  /** Ends all sessions and closes all connections. */
  stop(): Promise<void>;
}

/** Largest number of connections at a time; each session has two or three. */
const MOST_CONNECTIONS = 1024;

/** Starts listening. @throws {Error} if the port is in use */
export async function serveHTTP({ address, sources, ...parts }: HTTPOptions): Promise<HTTPServer> {
  const { app, stop } = createMCPApp({ ...parts, refusal: createSourceCheck(address, sources) });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.maxConnections = MOST_CONNECTIONS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const port = await listenOn(server, address.host, address.port);
  return {
    url: `http://${hostPort(address.host, port)}${MCP_PATH}`,
    port,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await stop();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Parts of the app. */
interface AppParts {
  /** Creates the server of a new session. */
  makeServer: () => SessionServer;
  authenticate: Authenticate;
  /** Returns why a request is refused because of its Host or Origin; undefined if it is allowed. */
  refusal: (host: string | undefined, origin: string | undefined) => string | undefined;
  limits: SessionLimits;
  clock: Clock;
  /** Called with one line when a session begins or ends. */
  note: (line: string) => void;
}

/** An app, and a function that ends its sessions. */
interface MCPApp {
  app: Hono;
  /** Ends all sessions, and refuses new ones from now on. */
  stop(): Promise<void>;
}

/** Path of the server. */
const MCP_PATH = "/mcp";
/** Largest request in bytes: for a file of 4 MiB in base64, or a text that is longer as JSON. */
const MOST_BYTES = 16 << 20;
const SESSION_HEADER = "mcp-session-id";

interface LiveSession extends SessionServer {
  transport: Transport;
}

/** Creates the app. */
function createMCPApp(parts: AppParts): MCPApp {
  const { authenticate, refusal, limits, clock, note } = parts;
  let isStopping = false;
  const sessions = createSessions<LiveSession>(limits, clock, async ({ session, server }, why) => {
    await server.close();
    note(endLine(session.id, why, await session.end()));
  });

  async function begin(c: Context, owner: string): Promise<Response> {
    if (isStopping || !sessions.makeRoom()) {
      const why = isStopping ? "The server stops" : "There are too many sessions";
      return refuse(c, 503, -32000, why, { "Retry-After": "30" });
    }
    const release = sessions.reserve();
    const made = parts.makeServer();
    // Different from the id in the labels of sandboxes, because other users can read that one.
    const id = crypto.randomUUID();
    const transport = new Transport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => {
        sessions.add(id, owner, { ...made, transport });
        note(`session ${made.session.id} began`);
      },
      onsessionclosed: () => sessions.end(id, "closed"),
      maxRequestBodySize: MOST_BYTES,
    });
    try {
      await made.server.connect(transport);
      const answer = await transport.handleRequest(c.req.raw);
      const use = sessions.use(id, owner);
      if (use) return whileOpen(answer, use.done);
      // The request was not an initialization, and the response says so.
      await made.server.close();
      return answer;
    } finally {
      release();
    }
  }

  async function handle(c: Context): Promise<Response> {
    const verdict = await authenticate(c.req.header("Authorization"));
    if ("challenge" in verdict) {
      return refuse(c, 401, -32001, "A bearer token is needed", { "WWW-Authenticate": verdict.challenge });
    }
    const id = c.req.header(SESSION_HEADER);
    if (id === undefined) return await begin(c, verdict.owner);
    const use = sessions.use(id, verdict.owner);
    // At a 404, clients start a new session.
    if (!use) return refuse(c, 404, -32001, "Session not found");
    try {
      return whileOpen(await use.value.transport.handleRequest(c.req.raw), use.done);
    } catch (error) {
      use.done();
      throw error;
    }
  }

  const app = new Hono();
  app.get("/healthz", (c) => c.text("ok"));
  app.use(MCP_PATH, async (c, next) => {
    const why = refusal(c.req.header("Host"), c.req.header("Origin"));
    return why === undefined ? await next() : refuse(c, 403, -32000, why);
  });
  app.use(MCP_PATH, cors({ origin: (origin) => origin, ...CORS }));
  app.all(MCP_PATH, handle);
  app.onError((_, c) => refuse(c, 500, -32603, "Internal error"));
  return {
    app,
    async stop() {
      isStopping = true;
      await sessions.endAll();
    },
  };
}

/** CORS headers for pages of allowed origins. Other origins have been refused before. */
const CORS = {
  allowMethods: ["GET", "POST", "DELETE"],
  allowHeaders: ["Authorization", "Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID"],
  exposeHeaders: ["Mcp-Session-Id", "WWW-Authenticate"],
  maxAge: 600,
};

function refuse(
  c: Context,
  status: 401 | 403 | 404 | 500 | 503,
  code: number,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return c.json({ jsonrpc: "2.0", error: { code, message }, id: null }, status, headers);
}

/** Calls `done` when the body of the response was sent, or nobody reads it any more. */
function whileOpen(answer: Response, done: () => void): Response {
  if (!answer.body) {
    done();
    return answer;
  }
  const ends = { flush: done, cancel: done };
  return new Response(answer.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(ends)), answer);
}

function endLine(id: string, why: EndReason, deleted: string[]): string {
  const how = {
    closed: "was closed",
    idle: "was idle for too long",
    replaced: "was idle for the longest time, and made room for a new one",
    stopped: "ended: the server stops",
  }[why];
  return `session ${id} ${how}${deleted.length === 0 ? "" : `; deleted ${deleted.join(", ")}`}`;
}

/** Limits of the table. */
interface SessionLimits {
  /** Largest number of sessions at a time. */
  most: number;
  /** Time after the last request or stream after which a session ends, in milliseconds. */
  idleMs: number;
}

/** Why a session ended. */
type EndReason = "closed" | "idle" | "replaced" | "stopped";

/** How long a session must have been idle, in milliseconds, before a new one may take its place. */
const REPLACEABLE_MS = 60_000;

interface SessionRecord<T> {
  value: T;
  owner: string;
  /** Number of open requests and streams. */
  open: number;
  /** When the last of them ended, in milliseconds. */
  idleSince: number;
  cancelTimer: () => void;
}

/** Sessions by their ids. */
interface Sessions<T> {
  /** Ends the session that was idle the longest if there is no place for a new one. Returns whether there is a place now. */
  makeRoom(): boolean;
  /** Reserves a place for a new session. Call the returned function to release it. */
  reserve(): () => void;
  add(id: string, owner: string, value: T): void;
  /**
   * Returns a session, and counts as a use until `done` is called. Undefined if it does not exist or has another owner.
   */
  use(id: string, owner: string): { value: T; done: () => void } | undefined;
  /** Removes a session and ends it. */
  end(id: string, why: EndReason): Promise<void>;
  endAll(): Promise<void>;
}

/** Creates an empty table. @param onEnd ends the session */
function createSessions<T>(
  { most, idleMs }: SessionLimits,
  clock: Clock,
  onEnd: (value: T, why: EndReason) => Promise<void>,
): Sessions<T> {
  const entries = new Map<string, SessionRecord<T>>();
  const ending = new Set<Promise<void>>();
  let reserved = 0;

  const isFull = () => entries.size + reserved >= most;

  function rest(id: string, entry: SessionRecord<T>): void {
    entry.idleSince = clock.now();
    entry.cancelTimer();
    entry.cancelTimer = clock.setTimeout(() => void end(id, "idle"), idleMs);
  }

  async function end(id: string, why: EndReason): Promise<void> {
    const entry = entries.get(id);
    if (!entry) return;
    entries.delete(id);
    entry.cancelTimer();
    const ended = onEnd(entry.value, why);
    ending.add(ended);
    await ended.finally(() => ending.delete(ended));
  }

  return {
    makeRoom() {
      if (!isFull()) return true;
      const idle = [...entries].filter(([, { open }]) => open === 0);
      const [longest] = idle.sort(([, a], [, b]) => a.idleSince - b.idleSince);
      if (!longest || clock.now() - longest[1].idleSince < REPLACEABLE_MS) return false;
      void end(longest[0], "replaced");
      return true;
    },
    reserve() {
      reserved++;
      return once(() => reserved--);
    },
    add(id, owner, value) {
      const entry: SessionRecord<T> = { value, owner, open: 0, idleSince: clock.now(), cancelTimer: () => {} };
      entries.set(id, entry);
      rest(id, entry);
    },
    use(id, owner) {
      const entry = entries.get(id);
      if (!entry || entry.owner !== owner) return undefined;
      entry.open++;
      entry.cancelTimer();
      const done = once(() => {
        if (--entry.open === 0 && entries.get(id) === entry) rest(id, entry);
      });
      return { value: entry.value, done };
    },
    end,
    async endAll() {
      await Promise.all([...entries.keys()].map((id) => end(id, "stopped")));
      await Promise.all(ending);
    },
  };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
