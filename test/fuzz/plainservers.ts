/** The listeners that take no other protocol: hooks, health, and MCP over HTTP. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { createHealthApp } from "../../packages/process/observability.ts";
import { createLog } from "../../packages/process/log.ts";
import { makeHooks } from "../../hooks/all.ts";
import { settingsOf } from "../hooksettings.ts";
import { serveHooks } from "../../packages/webhook/runhook.ts";
import { serve } from "../../packages/process/serve.ts";
import { parseAddress, tokensIn } from "../../packages/cli/mcp/access.ts";
import { serveHTTP } from "../../packages/cli/mcp/http.ts";
import { DEFAULT_SCOPE } from "../cli/mcp/scope.ts";
import { createSessionServer } from "../../packages/cli/mcp/server.ts";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { CANARY } from "./secrets.ts";

/** Servers by name, and what they log. */
export interface PlainServers {
  ports: Record<"hooks" | "health" | "mcp", number>;
  /** Opens the MCP server. */
  token: string;
  lines: string[];
  stop(): Promise<void>;
}

/** Starts them, as keeper, binder and hooks do. @param folder for what they need */
export async function startPlainServers(folder: string): Promise<PlainServers> {
  const token = `${CANARY}-of-an-agent`;
  const lines: string[] = [];
  const written = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(String(line)));
  const settings = settingsOf("--host", "127.0.0.1", "--port", "0", "--pool-interval-ms", "0");
  const hooks = await serveHooks(makeHooks([], settings), settings, false);
  const metrics = { text: () => Promise.resolve("none"), contentType: "text/plain" };
  const log = createLog("debug", (line) => lines.push(line));
  const health = await serve(createHealthApp(() => true, metrics), { host: "127.0.0.1", port: 0, log, graceMs: 100 });
  const tokens = join(folder, "tokens");
  writeFileSync(tokens, `${token}\n`);
  const client = new SandboxClient({ api: createFakeApi(), namespace: "default", routerUrl: "http://127.0.0.1:1" });
  const mcp = await serveHTTP({
    address: parseAddress("127.0.0.1:0"),
    authenticate: await tokensIn(tokens),
    makeServer: () => createSessionServer(client, { ...DEFAULT_SCOPE, findPools: () => Promise.resolve([]) }),
    note: (line) => lines.push(line),
    clock: createFakeClock(),
    limits: { most: 8, idleMs: 60_000 },
    sources: { hosts: [], origins: [] },
  });
  return {
    ports: { hooks: hooks.port, health: health.port, mcp: mcp.port },
    token,
    lines,
    async stop() {
      await Promise.all([hooks.stop(), health.stop(), mcp.stop()]);
      written.mockRestore();
    },
  };
}
