/** MCP over HTTP: who gets in, sessions and their ends. @module */
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { begin, connectAgent, HEADERS, INITIALIZE, listen, post, TOKEN } from "./httpstage.ts";
import { send } from "../../runtime/servers.ts";
import { callerOf, makeStage, textOf } from "./stage.ts";
import { eventually } from "../../eventually.ts";

const PING = { jsonrpc: "2.0", id: 2, method: "ping" };

test("an agent with a token works as over any transport, and receives progress", async () => {
  const stage = await makeStage();
  const client = await connectAgent(await listen(stage));
  const call = callerOf(client);
  await call("create_sandbox", { name: "job" });
  const told: string[] = [];
  const command = "echo one; until [ -e go ]; do sleep 0.02; done; echo two";
  const ran = await call("execute_command", { sandbox: "job", command }, {
    onprogress({ message }) {
      told.push(message ?? "");
      writeFileSync(stage.at("go"), "");
    },
  });
  expect(textOf(ran)).toBe("exit code 0\n--- stdout\none\ntwo");
  expect(told).toEqual(["one\n", "two\n"]);
});

test.for<[string, string | undefined, string]>([
  ["no token", undefined, 'Bearer realm="hookbox"'],
  [
    "another token",
    "Bearer another-token-of-16",
    'Bearer realm="hookbox", error="invalid_token", error_description="The token is not known"',
  ],
  [
    "a prefix of it",
    `Bearer ${TOKEN.slice(0, -1)}`,
    'Bearer realm="hookbox", error="invalid_token", error_description="The token is not known"',
  ],
  [
    "another scheme",
    `Basic ${TOKEN}`,
    'Bearer realm="hookbox", error="invalid_token", error_description="The token is not known"',
  ],
])("with %s it answers 401", async ([, authorization, challenge]) => {
  const server = await listen(await makeStage());
  const answer = await post(server, INITIALIZE, { Authorization: authorization });
  expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, challenge]);
  expect(JSON.parse(answer.text)).toEqual({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32001, message: "A bearer token is needed" },
  });
  expect(server.notes).toEqual([]);
});

test("a token in the address is no token, and health needs none", async () => {
  const { port } = await listen(await makeStage());
  const { Authorization: _, ...headers } = HEADERS;
  const body = JSON.stringify(INITIALIZE);
  expect((await send(port, "POST", `/mcp?access_token=${TOKEN}`, { body, headers })).status).toBe(401);
  expect((await send(port, "GET", "/healthz")).text).toBe("ok");
});

test("tokens are read anew; sessions of one are no other's", async () => {
  const server = await listen(await makeStage());
  const id = await begin(server);
  const second = "another-token-of-16";
  await writeFile(server.tokenFile, `${TOKEN}\n${second}\nshort\n`);
  const pinged = async (token: string) =>
    (await post(server, PING, { Authorization: `Bearer ${token}`, "Mcp-Session-Id": id })).status;
  expect([await pinged(TOKEN), await pinged(second), await pinged("short")]).toEqual([200, 404, 401]);
  await writeFile(server.tokenFile, `${second}\n`);
  expect([await pinged(TOKEN), await pinged(second)]).toEqual([401, 404]);
});

test.for<[string, Record<string, string>, number]>([
  ["a page of another site", { Origin: "https://evil.example" }, 403],
  ["a page without an origin of its own", { Origin: "null" }, 403],
  ["a name that was bound to loopback", { Host: "evil.example" }, 403],
  ["the same with a port", { Host: "evil.example:8765" }, 403],
  ["a page that is allowed", { Origin: "https://agents.example" }, 200],
  ["localhost with a port", { Host: "localhost:8765" }, 200],
  ["loopback of IPv6", { Host: "[::1]:8765" }, 200],
  ["a name that is allowed", { Host: "MCP.example" }, 200],
])("%s: %j is answered %i", async ([, headers, status]) => {
  const sources = { hosts: ["mcp.example"], origins: ["https://agents.example"] };
  const server = await listen(await makeStage(), { anonymous: true, sources });
  expect((await post(server, INITIALIZE, { Authorization: undefined, ...headers })).status).toBe(status);
});

test("a page that is allowed may read what it needs", async () => {
  const server = await listen(await makeStage(), { sources: { hosts: [], origins: ["https://agents.example"] } });
  const Origin = "https://agents.example";
  const preflight = await send(server.port, "OPTIONS", "/mcp", {
    headers: { Origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization" },
  });
  expect([preflight.status, preflight.headers["access-control-allow-origin"]]).toEqual([204, Origin]);
  const answer = await post(server, INITIALIZE, { Origin });
  expect(answer.headers["access-control-expose-headers"]).toContain("Mcp-Session-Id");
});

test("a session that nobody uses ends, and its sandboxes with it where that is wanted", async () => {
  const stage = await makeStage();
  const server = await listen(stage, { scope: { deleteOnExit: true }, limits: { most: 64, idleMs: 60_000 } });
  const id = await begin(server);
  const headers = { "Mcp-Session-Id": id };
  const params = { name: "create_sandbox", arguments: { name: "job" } };
  await post(server, { jsonrpc: "2.0", id: 2, method: "tools/call", params }, headers);
  await server.clock.advance(59_000);
  expect((await post(server, PING, headers)).status).toBe(200);
  await server.clock.advance(59_000);
  expect(stage.cluster.get("SandboxClaim", "job")).toBeDefined();
  await server.clock.advance(2000);
  expect((await post(server, PING, headers)).status).toBe(404);
  await eventually(() => server.notes).toEqual(["session ID began", "session ID was idle for too long; deleted job"]);
  expect(stage.cluster.get("SandboxClaim", "job")).toBeUndefined();
});

test("a session whose stream is open is in use", async () => {
  const server = await listen(await makeStage());
  const id = await begin(server);
  const leaving = new AbortController();
  const headers = { ...HEADERS, "Mcp-Session-Id": id };
  const stream = await fetch(server.url, { headers, signal: leaving.signal });
  expect(stream.status).toBe(200);
  await server.clock.advance(600_000);
  expect((await post(server, PING, { "Mcp-Session-Id": id })).status).toBe(200);
  leaving.abort();
  await eventually(async () => {
    await server.clock.advance(61_000);
    return server.notes;
  }).toContain("session ID was idle for too long");
});

test("there are no more sessions than allowed; one that is closed makes room", async () => {
  const server = await listen(await makeStage(), { limits: { most: 1, idleMs: 60_000 } });
  const id = await begin(server);
  const refused = await post(server, INITIALIZE);
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "30"]);
  const headers = { ...HEADERS, "Mcp-Session-Id": id };
  expect((await send(server.port, "DELETE", "/mcp", { headers })).status).toBe(200);
  expect((await post(server, PING, { "Mcp-Session-Id": id })).status).toBe(404);
  expect((await post(server, INITIALIZE)).status).toBe(200);
});

test("a new session takes the place of the one that was idle the longest, if that was more than a minute", async () => {
  const server = await listen(await makeStage(), { limits: { most: 3, idleMs: 1_800_000 } });
  const busy = await begin(server);
  const leaving = new AbortController();
  const headers = { ...HEADERS, "Mcp-Session-Id": busy };
  await fetch(server.url, { headers, signal: leaving.signal });
  const [used, unused] = [await begin(server), await begin(server)];
  await server.clock.advance(50_000);
  const ping = async (id: string) => (await post(server, PING, { "Mcp-Session-Id": id })).status;
  expect(await ping(used)).toBe(200);
  expect((await post(server, INITIALIZE)).status, "nothing was idle for a minute").toBe(503);
  await server.clock.advance(11_000);
  const next = await begin(server);
  expect([await ping(busy), await ping(used), await ping(unused), await ping(next)]).toEqual([200, 200, 404, 200]);
  await eventually(() => server.notes).toContain(
    "session ID was idle for the longest time, and made room for a new one",
  );
  expect((await post(server, INITIALIZE)).status, "those that are left are in use").toBe(503);
  leaving.abort();
});

test("what is no message and what is too large is refused, and leaves no session", async () => {
  const server = await listen(await makeStage());
  expect((await post(server, "{")).status).toBe(400);
  expect((await post(server, PING)).status).toBe(400);
  expect((await post(server, `"${"a".repeat(17 << 20)}"`)).status).toBe(413);
  expect(server.notes).toEqual([]);
});

test("stop() ends sessions, their commands and their sandboxes", async () => {
  const stage = await makeStage();
  const server = await listen(stage, { scope: { deleteOnExit: true } });
  const call = callerOf(await connectAgent(server));
  await call("create_sandbox", { name: "job" });
  const running = call("execute_command", { sandbox: "job", command: "touch begun; sleep 60; touch ended" });
  running.catch(() => {});
  await eventually(async () => textOf(await call("file_exists", { sandbox: "job", path: "begun" }))).toContain("file");
  await server.stop();
  expect(server.notes).toEqual(["session ID began", "session ID ended: the server stops; deleted job"]);
  expect(stage.cluster.get("SandboxClaim", "job")).toBeUndefined();
  await expect(fetch(server.url)).rejects.toThrow();
});
