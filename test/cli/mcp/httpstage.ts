/** The server on a free port of loopback over a test stage, with a clock that moves when told to. @module */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import { createFakeClock, type FakeClock } from "../../../packages/testing/clock.ts";
import { anonymousAccess, parseAddress, tokensIn } from "../../../packages/cli/mcp/access.ts";
import { type HTTPOptions, type HTTPServer, serveHTTP } from "../../../packages/cli/mcp/http.ts";
import type { Scope } from "../../../packages/cli/mcp/session.ts";
import { createSessionServer } from "../../../packages/cli/mcp/server.ts";
import { type Answer, send } from "../../runtime/servers.ts";
import { scopeOf, type Stage } from "./stage.ts";

export const TOKEN = "a-token-of-more-than-16";

/** A server that listens, and what it has noted. */
export interface Listening extends HTTPServer {
  clock: FakeClock;
  notes: string[];
  tokenFile: string;
}

/** Settings of a test. */
export interface ListenOptions extends Partial<Pick<HTTPOptions, "limits" | "sources">> {
  scope?: Partial<Scope>;
  anonymous?: boolean;
}

/** Starts it; it stops when the test ends. */
export async function listen(stage: Stage, options: ListenOptions = {}): Promise<Listening> {
  const { scope, anonymous, limits = { most: 64, idleMs: 60_000 }, sources = { hosts: [], origins: [] } } = options;
  const clock = createFakeClock();
  const notes: string[] = [];
  const tokenFile = join(stage.around, "tokens");
  await writeFile(tokenFile, `${TOKEN}\n`);
  const server = await serveHTTP({
    address: parseAddress("127.0.0.1:0"),
    authenticate: anonymous ? anonymousAccess : await tokensIn(tokenFile),
    makeServer: () => createSessionServer(stage.client, scopeOf(stage, { deleteOnExit: false, ...scope })),
    note: (line) => notes.push(line.replaceAll(/[0-9a-f-]{36}/g, "ID")),
    clock,
    limits,
    sources,
  });
  onTestFinished(() => server.stop());
  return { ...server, clock, notes, tokenFile };
}

/** Connects an agent, which has a token unless told otherwise. */
export async function connectAgent({ url }: HTTPServer, token: string | undefined = TOKEN): Promise<Client> {
  const headers: Record<string, string> = token === "" ? {} : { Authorization: `Bearer ${token}` };
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

/** Headers of every request that is in order. */
export const HEADERS = {
  Authorization: `Bearer ${TOKEN}`,
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
};

/** Sends a message by hand. */
export async function post(
  { port }: HTTPServer,
  body: object | string,
  headers: Record<string, string | undefined> = {},
): Promise<Answer> {
  const all = Object.entries({ ...HEADERS, ...headers }).filter((pair): pair is [string, string] =>
    pair[1] !== undefined
  );
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return await send(port, "POST", "/mcp", { body: text, headers: Object.fromEntries(all) });
}

/** The first message of a session. */
export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

/** Begins a session by hand; returns its id. */
export async function begin(server: HTTPServer, headers: Record<string, string> = {}): Promise<string> {
  const { headers: answered } = await post(server, INITIALIZE, headers);
  return String(answered["mcp-session-id"]);
}
