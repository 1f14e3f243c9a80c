/** `hookbox mcp`, used by the published SDK of the Model Context Protocol, over standard input and output and over HTTP. @module */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import { makeTempFolder } from "../tempfolder.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { POOL, type Stage } from "./stage.ts";

const MAIN = fileURLToPath(new URL("../../packages/cli/main.ts", import.meta.url));
const TOKEN = "a-token-of-more-than-16";

const SDK = { client: "@modelcontextprotocol/sdk", version: "1.32.2", runs: "npm test" } as const;

/** The rows of MCP. */
export const MCP_CLIENTS: Consumer[] = [
  { ...SDK, way: "`hookbox mcp`, standard input and output", run: overStdio },
  { ...SDK, way: "`hookbox mcp --http`", run: overHTTP },
];

/** Returns the arguments of Node with which `hookbox mcp` serves the pool of a stage, and its environment. */
export function commandOf({ ns, cluster }: Stage): { args: string[]; env: Record<string, string> } {
  const { PATH = "", HOME = "" } = process.env;
  const env = { PATH: `${dirname(cluster.kubectl)}:${PATH}`, HOME, KUBECONFIG: cluster.kubeconfig };
  return { args: [MAIN, "mcp", "--pool", POOL, "-n", ns.name], env };
}

async function overStdio(stage: Stage): Promise<Checks> {
  const transport = new StdioClientTransport({ command: process.execPath, stderr: "inherit", ...commandOf(stage) });
  return await work(transport);
}

async function overHTTP(stage: Stage): Promise<Checks> {
  const { url, headers } = await serveHTTP(stage);
  return await work(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
}

/** Starts `hookbox mcp --http` until the test ends. @returns its address, and the headers that clients need */
export async function serveHTTP(stage: Stage, options: string[] = []) {
  const { args, env } = commandOf(stage);
  const tokenFile = join(makeTempFolder(), "tokens");
  writeFileSync(tokenFile, `${TOKEN}\n`);
  const flags = ["--http", "127.0.0.1:0", "--token-file", tokenFile, ...options];
  const server = spawn(process.execPath, [...args, ...flags], { env, stdio: ["ignore", "inherit", "pipe"] });
  onTestFinished(async () => {
    server.kill();
    await once(server, "exit");
  });
  for await (const line of createInterface({ input: server.stderr })) {
    const url = /http:\/\/\S+\/mcp/.exec(line)?.[0];
    if (url !== undefined) return { url, headers: { Authorization: `Bearer ${TOKEN}` } };
  }
  throw new Error("hookbox mcp --http has ended");
}

async function work(transport: StdioClientTransport | StreamableHTTPClientTransport): Promise<Checks> {
  const client = new Client({ name: "consumers", version: "1" });
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const { content, structuredContent } = await client.callTool({ name, arguments: given });
    return {
      text: JSON.stringify(content),
      result: structuredContent as { name?: string; sandbox?: string } | undefined,
    };
  };
  const { tools } = await client.listTools();
  const made = await call("create_sandbox");
  const sandbox = made.result?.name ?? made.result?.sandbox ?? "";
  const ran = await call("execute_command", { sandbox, command: "echo $((6 * 7))" });
  const coded = await call("run_code", { sandbox, code: "print(6 * 7)" });
  await call("write_file", { sandbox, path: "/tmp/x.txt", content: "there" });
  const read = await call("execute_command", { sandbox, command: "cat /tmp/x.txt" });
  const deleted = await call("delete_sandbox", { sandbox });
  const has = ({ text }: { text: string }, wanted: string) => text.includes(wanted) ? "ok" : text;
  return {
    "list tools": tools.some(({ name }) => name === "run_code") ? "ok" : JSON.stringify(tools),
    create: sandbox === "" ? made.text : "ok",
    command: has(ran, "42"),
    code: has(coded, "42"),
    "absolute path": has(read, "there"),
    delete: has(deleted, sandbox),
  };
}
