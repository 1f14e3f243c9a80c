/** Pages of other sites, on the ports that take commands and files. @module */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { Runtime } from "../../../packages/runtime/start.ts";
import { makeRoot, type TestRoot } from "../folders.ts";
import { formOf, send, startTestRuntime } from "../servers.ts";

let made: TestRoot;
let runtime: Runtime;

beforeEach(async () => {
  made = await makeRoot({ "file": "0123456789" });
  runtime = await startTestRuntime(made.root.path);
  return () => runtime.stop();
});

/** What a page may send without asking first. */
const simple = (port: number, headers: Record<string, string>) => {
  const body = JSON.stringify({ command: "touch made" });
  return send(port, "POST", "/execute", { body, headers: { "Content-Type": "text/plain", ...headers } });
};

test.for(["http://elsewhere.example", "null", "http://127.0.0.1:1"])("a page of %s runs no command", async (origin) => {
  const { status, text } = await simple(runtime.port, { Origin: origin });
  expect([status, JSON.parse(text)]).toEqual([
    403,
    { message: "Cannot let you in: a page of another origin needs a token" },
  ]);
  expect(existsSync(join(made.root.path, "made"))).toBe(false);
});

test("nor does it upload or read", async () => {
  const form = formOf("new", "text");
  const headers = { ...form.headers, Origin: "http://elsewhere.example" };
  expect((await send(runtime.port, "POST", "/upload", { ...form, headers })).status).toBe(403);
  expect(existsSync(join(made.root.path, "new"))).toBe(false);
  const read = await send(runtime.restPort, "GET", "/v1/files/file", {
    headers: { Origin: "http://elsewhere.example" },
  });
  expect([read.status, JSON.parse(read.text).code]).toEqual([403, "PERMISSION_DENIED"]);
  expect((await send(runtime.restPort, "GET", "/v1/health", { headers: { Origin: "http://x.example" } })).status)
    .toBe(200);
});

test("a client that a router has passed on without a token reaches none of the runtime's own ports", async () => {
  const headers = { "X-Sandbox-Anonymous": "true" };
  expect((await simple(runtime.port, headers)).status).toBe(403);
  expect(existsSync(join(made.root.path, "made"))).toBe(false);
  expect((await send(runtime.restPort, "GET", "/v1/files/file", { headers })).status).toBe(403);
  const call = "/process.v1.ProcessService/ListProcesses";
  const json = { ...headers, "Content-Type": "application/json" };
  for (const port of [runtime.restPort, runtime.grpcPort]) {
    expect((await send(port, "POST", call, { body: "{}", headers: json })).status, `${port}`).toBe(403);
  }
});

test("a page of the same origin may, as the runtime sees it or as the router's client asked", async () => {
  const own = await simple(runtime.port, { Host: "agent.localhost:1234", Origin: "http://agent.localhost:1234" });
  const forwarded = { "X-Forwarded-Host": "8888-agent-team.example", Origin: "https://8888-agent-team.example" };
  expect([own.status, (await simple(runtime.port, forwarded)).status]).toEqual([200, 200]);
});

test("a page of another origin may not, whatever host the request was forwarded for", async () => {
  const strange = { "X-Forwarded-Host": "8888-agent-team.example", Origin: "http://elsewhere.example" };
  expect((await simple(runtime.port, strange)).status).toBe(403);
  expect(existsSync(join(made.root.path, "made"))).toBe(false);
});

test("a page whose name was made to lead here runs no command and reads no file", async () => {
  const host = { Host: "evil.example:8888" };
  const { status, text } = await simple(runtime.port, { ...host, Origin: "http://evil.example:8888" });
  expect([status, JSON.parse(text)]).toEqual([403, {
    message:
      'Cannot serve host "evil.example:8888": it is not a name of this machine; to allow it, use --allowed-hosts',
  }]);
  expect(existsSync(join(made.root.path, "made"))).toBe(false);
  // A browser says no Origin where it reads from what it takes for the page's own.
  expect((await send(runtime.restPort, "GET", "/v1/files/file", { headers: host })).status).toBe(403);
  expect((await send(runtime.interpreterPort!, "GET", "/contexts", { headers: host })).status).toBe(403);
  const forwarded = { ...host, "X-Forwarded-Host": "localhost" };
  expect((await send(runtime.restPort, "GET", "/v1/files/file", { headers: forwarded })).status).toBe(403);
});

test.for([
  { name: "of another origin", headers: { Origin: "http://elsewhere.example" } },
  { name: "whose name was made to lead here", headers: { Host: "evil.example:1", Origin: "http://evil.example:1" } },
])("a page $name calls no service on the port of gRPC either", async ({ headers }) => {
  const call = (headers: Record<string, string>) =>
    send(runtime.grpcPort, "POST", "/process.v1.ProcessService/Execute", {
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ config: { command: ["touch", "made"] } }),
    });
  expect((await call(headers)).status).toBe(403);
  expect(existsSync(join(made.root.path, "made"))).toBe(false);
  expect((await call({ Host: "localhost" })).status).toBe(200);
});

test("--allowed-hosts lets in what comes by such a name", async () => {
  const other = await startTestRuntime(made.root.path, "--allowed-hosts", "Dev.example");
  onTestFinished(() => other.stop());
  const ask = async (host: string) =>
    (await send(other.restPort, "GET", "/v1/files/file", { headers: { Host: host } })).status;
  expect([await ask("dev.example:80"), await ask("evil.example")]).toEqual([200, 403]);
  const call = async (Host: string) => (await send(other.grpcPort, "GET", "/", { headers: { Host } })).status;
  expect([await call("dev.example:80"), await call("evil.example")]).toEqual([404, 403]);
});
