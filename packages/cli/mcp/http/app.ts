/** The server over HTTP as an app: who gets in, which session is meant, and its transport. Opens no port. @module */
import { WebStandardStreamableHTTPServerTransport as Transport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { Clock } from "../../../process/clock.ts";
import type { SessionServer } from "../server.ts";
import type { Authenticate } from "./access.ts";
import { createSessions, type SessionLimits, type Why } from "./sessions.ts";

/** What the app is made of. */
export interface AppParts {
  /** Makes the server of a new session. */
  makeServer: () => SessionServer;
  authenticate: Authenticate;
  /** Says why a request is refused, by its Host and Origin; undefined: it is not. */
  refusal: (host: string | undefined, origin: string | undefined) => string | undefined;
  limits: SessionLimits;
  clock: Clock;
  /** Told that a session began or ended, in one line. */
  note: (line: string) => void;
}

/** An app, and what ends its sessions. */
export interface MCPApp {
  app: Hono;
  /** Ends all sessions; new ones are refused from now on. */
  stop(): Promise<void>;
}

/** Path of the server. */
export const MCP_PATH = "/mcp";
/** Bytes of a request: 4 MiB of a file in base64, or of a text that JSON makes longer. */
const MOST_BYTES = 16 << 20;
const SESSION_HEADER = "mcp-session-id";

interface Standing extends SessionServer {
  transport: Transport;
}

/** Makes it. */
export function createMCPApp(parts: AppParts): MCPApp {
  const { authenticate, refusal, limits, clock, note } = parts;
  let isStopping = false;
  const sessions = createSessions<Standing>(limits, clock, async ({ session, server }, why) => {
    await server.close();
    note(endLine(session.id, why, await session.end()));
  });

  async function begin(c: Context, owner: string): Promise<Response> {
    if (isStopping || sessions.isFull()) {
      const why = isStopping ? "The server stops" : "There are too many sessions";
      return refuse(c, 503, -32000, why, { "Retry-After": "30" });
    }
    const release = sessions.reserve();
    const made = parts.makeServer();
    // Not the id on the labels of sandboxes: others can read that.
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
      // It was no initialization, and the answer says so.
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
    // Clients begin a new session at a 404.
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

/** For pages of allowed origins; others have been refused. */
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

/** Calls `done` when the answer's body has gone out, or nobody reads it any more. */
function whileOpen(answer: Response, done: () => void): Response {
  if (!answer.body) {
    done();
    return answer;
  }
  const ends = { flush: done, cancel: done };
  return new Response(answer.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(ends)), answer);
}

function endLine(id: string, why: Why, deleted: string[]): string {
  const how = { closed: "was closed", idle: "was idle for too long", stopped: "ended: the server stops" }[why];
  return `session ${id} ${how}${deleted.length === 0 ? "" : `; deleted ${deleted.join(", ")}`}`;
}
