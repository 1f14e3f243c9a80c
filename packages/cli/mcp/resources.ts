/** MCP resources: the list of sandboxes, and each sandbox. @module */
import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { ReadResourceResult } from "@modelcontextprotocol/sdk/types.js";
import type { Session } from "./session.ts";
import { shown } from "./tools/seen.ts";

const JSON_TYPE = "application/json";

/** Adds the resources to a server. */
export function addResources(server: McpServer, session: Session): void {
  const described = (description: string) => ({ description, mimeType: JSON_TYPE });
  server.registerResource(
    "get_sandboxes",
    "sandboxes://list",
    { title: "Sandboxes", ...described("The sandboxes that this session may use") },
    async (uri, { signal }) => answer(uri, { sandboxes: (await session.list(signal)).map(shown) }),
  );
  const list = async ({ signal }: { signal: AbortSignal }) => ({
    resources: (await session.list(signal)).map(({ name, state }) => ({
      uri: `sandbox://${name}`,
      name,
      description: state,
      mimeType: JSON_TYPE,
    })),
  });
  server.registerResource(
    "sandbox",
    new ResourceTemplate("sandbox://{name}", { list }),
    { title: "A sandbox", ...described("State of one sandbox") },
    async (uri, { name }, { signal }) => answer(uri, shown(await session.look(String(name), signal))),
  );
}

function answer(uri: URL, value: object): ReadResourceResult {
  return { contents: [{ uri: uri.href, mimeType: JSON_TYPE, text: JSON.stringify(value, null, 2) }] };
}
