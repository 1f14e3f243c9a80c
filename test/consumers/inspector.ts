/** `hookbox mcp`, used by the published inspector of the Model Context Protocol on the command line. @module */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { npmPackages } from "../npmpackages.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { commandOf, serveHTTP } from "./mcp.ts";
import type { Stage } from "./stage.ts";

const MANIFEST = fileURLToPath(new URL("inspector.json", import.meta.url));
const PROGRAM = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/** Each call of the inspector is a session of its own. By this label, a session may use a sandbox of an earlier one. */
const LABEL = "app=inspector";
const SHARED = ["--selector", LABEL];

const WAY = {
  client: "@modelcontextprotocol/inspector",
  version: "2.12.0",
  runs: "npm run soak -- consumers",
  note: "With `--cli`. Each call is a session of its own, so the server needs `--selector` for the later calls.",
} as const;

/** The rows of the inspector. */
export const INSPECTOR: Consumer[] = [
  { ...WAY, way: "`hookbox mcp --http`", run: overHTTP },
  { ...WAY, way: "`hookbox mcp`, standard input and output", run: overStdio },
];

async function overStdio(stage: Stage): Promise<Checks> {
  const { args, env } = commandOf(stage);
  const server = [process.execPath, ...args, "--no-delete-on-exit", ...SHARED];
  return await work(stage, Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]), server);
}

async function overHTTP(stage: Stage): Promise<Checks> {
  const { url, headers } = await serveHTTP(stage, SHARED);
  const given = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
  return await work(stage, ["--server-url", url, "--transport", "http", ...given], []);
}

/** @param options that tell the inspector where the server is @param server its command; empty: it runs */
async function work({ here, ns }: Stage, options: string[], server: string[]): Promise<Checks> {
  const program = join(await npmPackages(MANIFEST), PROGRAM);
  // The inspector keeps files in the home folder.
  const env = { HOME: makeTempFolder() };
  const inspect = async (...args: string[]) => {
    const all = [program, "--cli", "--format", "json", ...args, ...options, ...server];
    return await here(process.execPath, all, { env }).catch(String);
  };
  const call = (tool: string, given: object = {}) =>
    inspect("--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(given));
  // Strict: it also checks that models of all vendors understand the schemas.
  const tools = await inspect("--method", "tools/list", "--strict");
  const made = await call("create_sandbox");
  const [, sandbox = ""] = /"name":"([^"]+)"/.exec(made) ?? [];
  if (sandbox !== "") await ns.kubectl("label", "sandboxclaim", sandbox, LABEL);
  const ran = await call("execute_command", { sandbox, command: "echo $((6 * 7))" });
  const coded = await call("run_code", { sandbox, code: "print(6 * 7)" });
  await call("write_file", { sandbox, path: "/tmp/x.txt", content: "there" });
  const read = await call("read_file", { sandbox, path: "/tmp/x.txt" });
  const resources = await inspect("--method", "resources/list");
  const deleted = await call("delete_sandbox", { sandbox });
  // What a failed command has printed is no JSON.
  const has = (text: string, wanted: string) => text.startsWith("{") && text.includes(wanted) ? "ok" : text;
  return {
    "list tools": has(tools, '"run_code"'),
    create: sandbox === "" ? made : "ok",
    command: has(ran, "42"),
    code: has(coded, "42"),
    "absolute path": has(read, "there"),
    "list resources": has(resources, "sandboxes://list"),
    delete: has(deleted, sandbox),
  };
}
