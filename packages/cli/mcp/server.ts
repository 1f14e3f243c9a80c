/** Creates the MCP server of one session, without a transport. @module */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod";
import manifest from "../package.json" with { type: "json" };
import type { SandboxClient } from "../../sdk/client.ts";
import { createProgress } from "./progress.ts";
import { addResources } from "./resources.ts";
import type { Scope } from "./scope.ts";
import { createSession, type Session } from "./session.ts";
import { callTool, type Tool } from "./tool.ts";
import { allTools } from "./tools/all.ts";

/** A server and its session. When its transport closes, the session ends. */
export interface SessionServer {
  server: McpServer;
  session: Session;
}

const INSTRUCTIONS =
  "Sandboxes are isolated machines for code and commands that you do not want to run anywhere else. " +
  "Make one with create_sandbox, work in it by its name, and delete it with delete_sandbox when you are done. " +
  "Files stay between calls. If a sandbox does not start, ask why.";
/** Tools that change the list of sandboxes. */
const CHANGES_LIST = new Set(["create_sandbox", "delete_sandbox"]);

/** Creates the server of a session, for sandboxes in the client's namespace. */
export function createSessionServer(client: SandboxClient, scope: Scope): SessionServer {
  const session = createSession(client, scope);
  const server = new McpServer(
    { name: "hookbox", title: "hookbox sandboxes", version: manifest.version },
    { instructions: INSTRUCTIONS },
  );
  for (const tool of allTools(scope)) addTool(server, session, tool);
  addResources(server, session);
  server.server.onclose = () => void session.end();
  return { server, session };
}

function addTool(server: McpServer, session: Session, tool: Tool): void {
  const { name, title, description, input, output, hints } = tool;
  const config = {
    title,
    description,
    // Unknown parameters are an error, so that the agent notices a misspelled name.
    inputSchema: z.strictObject(input),
    outputSchema: z.object(output),
    annotations: { title, ...hints },
  };
  server.registerTool(name, config, async (given, extra) => {
    const progress = createProgress(extra);
    const call = { session, signal: extra.signal, progress: progress.tell };
    const result = await callTool(tool, given as Record<string, unknown>, call);
    progress.end();
    if (CHANGES_LIST.has(name) && !result.isError) server.sendResourceListChanged();
    return result;
  });
}
