/** A cluster in memory whose sandboxes are all one real runtime on loopback, and agents that talk to its MCP server. @module */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished } from "vitest";
import { SandboxClient } from "../../../packages/sdk/client.ts";
import { createTestCluster, type TestCluster } from "../../../packages/testing/mod.ts";
import { listPools } from "../../../packages/cli/commands/mcp.ts";
import type { Scope } from "../../../packages/cli/mcp/session.ts";
import { DEFAULT_SCOPE } from "./scope.ts";
import { createSessionServer, type SessionServer } from "../../../packages/cli/mcp/server.ts";
import { makeRoot, type TestRoot } from "../../runtime/folders.ts";
import { startTestRuntime } from "../../runtime/servers.ts";
import { POOL } from "../../sdk/pool.ts";

/** What tests work with. */
export interface Stage extends TestRoot {
  cluster: TestCluster;
  client: SandboxClient;
  routerUrl: string;
}

/** Starts both; they go when the test ends. Time passes by itself where somebody waits. */
export async function makeStage(files: Record<string, string> = {}): Promise<Stage> {
  const made = await makeRoot(files);
  const runtime = await startTestRuntime(made.root.path);
  const cluster = await createTestCluster({ time: "auto" });
  onTestFinished(async () => {
    await cluster.stop();
    await runtime.stop();
  });
  await cluster.apply(POOL);
  // The runtime is taken for a router: it does not look at the headers that name a sandbox.
  const routerUrl = `http://127.0.0.1:${runtime.restPort}`;
  const client = new SandboxClient({ api: cluster.api, namespace: "default", routerUrl, routerPathPrefix: "/s" });
  return { ...made, cluster, client, routerUrl };
}

/** An agent with a session of its own. */
export interface Agent extends SessionServer {
  client: Client;
  call(name: string, input?: Record<string, unknown>, options?: RequestOptions): Promise<CallToolResult>;
}

/** What sessions on this stage may do. */
export function scopeOf({ cluster }: Pick<Stage, "cluster">, scope: Partial<Scope> = {}): Scope {
  return { ...DEFAULT_SCOPE, findPools: (signal) => listPools(cluster.api, "default", signal), ...scope };
}

/** Connects an agent to a server of its own. */
export async function makeAgent(
  stage: Pick<Stage, "cluster" | "client">,
  scope: Partial<Scope> = {},
): Promise<Agent> {
  const made = createSessionServer(stage.client, scopeOf(stage, scope));
  const [near, far] = InMemoryTransport.createLinkedPair();
  await made.server.connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  onTestFinished(async () => {
    await client.close();
    await made.session.end();
  });
  return { ...made, client, call: callerOf(client) };
}

/** Makes the short way to call tools. */
export function callerOf(client: Client): Agent["call"] {
  return async (name, input = {}, options = {}) =>
    await client.callTool({ name, arguments: input }, undefined, options) as CallToolResult;
}

/** The facts for programs, of tools without structured content. */
export function resultOf({ structuredContent, _meta }: CallToolResult): Record<string, unknown> {
  expect(structuredContent, "some clients would give it to the model in place of the content").toBeUndefined();
  return _meta?.["result"] as Record<string, unknown>;
}

/** The text that the model reads. */
export function textOf({ content }: CallToolResult): string {
  return content.map((block) => block.type === "text" ? block.text : `<${block.type}>`).join("\n");
}
