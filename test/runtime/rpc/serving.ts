/** A runtime's services on a free port of loopback, for tests; killed and closed after each. @module */
import { createGrpcTransport } from "@connectrpc/connect-node";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createRoot } from "../../../packages/runtime/confine.ts";
import { createContexts } from "../../../packages/runtime/contexts/contexts.ts";
import { listenGRPC } from "../../../packages/runtime/listen.ts";
import { createMetrics } from "../../../packages/runtime/processes/metrics.ts";
import { createProcesses } from "../../../packages/runtime/processes/processes.ts";
import { createRoutes, type RoutesOptions } from "../../../packages/runtime/rpc/routes.ts";

/** Starts them; `transport` speaks gRPC to them. */
export async function aServer(more: Partial<RoutesOptions> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "hookbox-rpc-"));
  const root = await createRoot(directory);
  const processes = createProcesses({ keepOutputBytes: 100_000 });
  const contexts = createContexts(root.path);
  const metrics = createMetrics({ processes, busyContexts: contexts.busy });
  const routes = createRoutes({ root, processes, contexts, metrics, maxOutput: 1 << 20, ...more });
  const listening = await listenGRPC(routes, "127.0.0.1", 0, { token: more.token, allowedHosts: [] });
  onTestFinished(async () => {
    processes.killAll();
    contexts.killAll();
    await listening.close();
    rmSync(directory, { recursive: true });
  });
  const baseUrl = `http://127.0.0.1:${listening.port}`;
  return {
    root: root.path,
    processes,
    contexts,
    routes,
    baseUrl,
    transport: createGrpcTransport({ baseUrl }),
    listening,
  };
}

/** A shell that runs `script`. */
export function shell(script: string, more: { cwd?: string; envVars?: Record<string, string> } = {}) {
  return { command: ["/bin/sh", "-c", script], envVars: {}, ...more };
}

export const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
export const encode = (text: string) => new TextEncoder().encode(text);
