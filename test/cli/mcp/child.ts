/** `hookbox mcp` on a cluster in memory, as a process of its own: its streams are those of the agent. @module */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { nodeContext } from "../../../packages/cli/nodecontext.ts";
import { runCLI } from "../../../packages/cli/program.ts";
import { SandboxClient } from "../../../packages/sdk/client.ts";
import { createTestCluster } from "../../../packages/testing/mod.ts";
import { readOptions } from "../../../packages/runtime/options.ts";
import { startRuntime } from "../../../packages/runtime/start.ts";
import { POOL } from "../../sdk/pool.ts";
import { FREE_PORTS } from "../../runtime/freeports.ts";

const root = await mkdtemp(join(tmpdir(), "mcp-"));
const ports = [...FREE_PORTS, "--shutdown-timeout", "5s"];
const runtime = await startRuntime(readOptions(["--root", root, "--host", "127.0.0.1", ...ports])!, () => {});
const cluster = await createTestCluster({ time: "auto" });
await cluster.apply(POOL);
const { api } = cluster;
const context = nodeContext();
const client = new SandboxClient({ api, namespace: "default", routerUrl: `http://127.0.0.1:${runtime.restPort}` });
const code = await runCLI(["mcp", ...context.args], {
  ...context,
  // A spread takes the getters' values, and looking at the signal is what makes the process listen.
  signal: context.signal,
  connectCluster: () =>
    Promise.resolve({
      api,
      credentials: { server: "", namespace: "default", current: () => Promise.reject() },
      namespace: "default",
      server: "",
      source: "",
      read: () => Promise.reject(),
    }),
  connect: () => Promise.resolve({ client, way: "router", transportTo: () => Promise.reject() }),
});
const left = cluster.objects("SandboxClaim").map(({ metadata }) => metadata.name);
process.stderr.write(`left: ${JSON.stringify(left)}\n`);
await runtime.stop();
await rm(root, { recursive: true });
await context.flush();
process.exit(code);
