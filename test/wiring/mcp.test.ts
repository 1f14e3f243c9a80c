/** `hookbox mcp --http` with its real flags: who is let in, what sessions may do, and its end. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Interruption } from "../../packages/cli/failure.ts";
import { runCLI } from "../../packages/cli/program.ts";
import { fakeContext } from "../cli/fakecontext.ts";
import { connectAgent, HEADERS, INITIALIZE, TOKEN } from "../cli/mcp/httpstage.ts";
import { callerOf, makeStage, textOf } from "../cli/mcp/stage.ts";
import { eventually } from "../eventually.ts";
import { send } from "../runtime/servers.ts";

const SECOND = "another-token-of-16";
const POST = { body: JSON.stringify(INITIALIZE) };
const { Authorization: _, ...ANONYMOUS } = HEADERS;

/** Runs the command until it says where it listens; `TOKENS` in its flags is a file with two tokens. */
async function serve(...flags: string[]) {
  const stage = await makeStage();
  const tokens = join(stage.around, "tokens");
  writeFileSync(tokens, `${TOKEN}\n${SECOND}\n`);
  const interrupt = new AbortController();
  const { context, written } = fakeContext({
    api: stage.cluster.api,
    signal: interrupt.signal,
    connect: () => Promise.resolve({ client: stage.client, way: "router", transportTo: () => Promise.reject() }),
  });
  const line = ["mcp", "--http", "127.0.0.1:0", ...flags.map((flag) => flag === "TOKENS" ? tokens : flag)];
  const running = runCLI(line, context);
  const stop = () => {
    interrupt.abort(new Interruption());
    return running;
  };
  onTestFinished(() => void stop());
  await eventually(() => written.stderr).toMatch(/^listening at http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
  const [, url = "", port = ""] = /(http:\/\/[^:]+:(\d+)\/mcp)/.exec(written.stderr) ?? [];
  const ask = async (headers: Record<string, string>, method = "POST", path = "/mcp") =>
    await send(Number(port), method, path, { ...method === "POST" ? POST : {}, headers });
  const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status;
  return {
    ...stage,
    written,
    stop,
    ask,
    statusOf,
    url: { url, port: Number(port), stop: () => stop().then(() => {}) },
  };
}

describe("hookbox mcp --http", () => {
  test("lets in who has one of the tokens, to sessions of their own, and nobody else anywhere", async () => {
    const { ask, statusOf, written, stop } = await serve("--token-file", "TOKENS");
    const strangers = ["", `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, `Bearer ${TOKEN.slice(1)}`];
    for (const Authorization of strangers) {
      const headers = Authorization === "" ? ANONYMOUS : { ...ANONYMOUS, Authorization };
      for (const method of ["POST", "GET", "DELETE", "PUT"]) {
        expect([Authorization, method, await statusOf(headers, method)]).toEqual([Authorization, method, 401]);
      }
    }
    expect(written.stderr).not.toContain("began");
    const { status, headers } = await ask(HEADERS);
    expect(status).toBe(200);
    const session = { "Mcp-Session-Id": String(headers["mcp-session-id"]) };
    expect(await statusOf({ ...HEADERS, ...session, Authorization: `Bearer ${SECOND}` })).toBe(404);
    expect(await statusOf({ ...ANONYMOUS, ...session })).toBe(401);
    expect(await statusOf({ ...HEADERS, Host: "evil.example" }), "a name bound to loopback").toBe(403);
    expect(await statusOf({ ...HEADERS, Origin: "https://evil.example" })).toBe(403);
    expect(await statusOf({}, "GET", "/healthz")).toBe(200);
    for (const path of ["/", "/metrics", "/mcp/", "/mcp/x", "//mcp", "/healthz/x"]) {
      expect([path, await statusOf(HEADERS, "POST", path)]).toEqual([path, 404]);
    }
    expect(await stop()).toBe(0);
    expect(written.stdout).toBe("");
    expect(written.stderr).toMatch(/\nsession [0-9a-f-]{36} began\nsession [0-9a-f-]{36} ended: the server stops\n$/);
    await expect(statusOf({}, "GET", "/healthz")).rejects.toThrow();
  });

  test("lets in the pages and names of its options, or everybody, and so many sessions", async () => {
    const sources = ["--allowed-origin", "https://agents.example", "--allowed-host", "mcp.example"];
    const { ask, statusOf } = await serve("--allow-anonymous", ...sources, "--max-sessions", "1");
    expect(await statusOf({ ...ANONYMOUS, Origin: "https://other.example" })).toBe(403);
    expect(await statusOf({ ...ANONYMOUS, Host: "other.example" })).toBe(403);
    const answer = await ask({ ...ANONYMOUS, Host: "mcp.example", Origin: "https://agents.example" });
    expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([200, "https://agents.example"]);
    expect(await statusOf(ANONYMOUS)).toBe(503);
  });

  test("sessions may do what the flags say, and what they have made ends with them where that is wanted", async () => {
    const limits = [
      "--max-sandboxes",
      "1",
      "--pool",
      "python",
      "--lifetime",
      "3h",
      "--max-lifetime",
      "2h",
      "--delete-on-exit",
    ];
    const { url, cluster, stop } = await serve("--token-file", "TOKENS", ...limits);
    const client = await connectAgent(url);
    const { tools } = await client.listTools();
    const { properties = {} } = tools.find(({ name }) => name === "create_sandbox")?.inputSchema ?? {};
    expect(properties["pool"]).toMatchObject({ enum: ["python"] });
    expect(properties, "no image of its choice").not.toHaveProperty("image");
    expect(Object.values(properties), "no longer by itself than at all").toContainEqual(
      expect.objectContaining({ default: 7_200_000, maximum: 7_200_000 }),
    );
    const call = callerOf(client);
    await call("create_sandbox", { name: "job" });
    expect(textOf(await call("create_sandbox", { name: "second" }))).toContain("this session has 1");
    expect(cluster.get("SandboxClaim", "second")).toBeUndefined();
    expect(cluster.get("SandboxClaim", "job")).toBeDefined();
    expect(await stop()).toBe(0);
    expect(cluster.get("SandboxClaim", "job")).toBeUndefined();
  });

  test("unless told so it leaves them; a session that nobody uses ends", async () => {
    const { url, cluster, written } = await serve("--token-file", "TOKENS", "--session-idle", "5s");
    const client = await connectAgent(url);
    await callerOf(client)("create_sandbox", { name: "job" });
    await client.close();
    await eventually(() => written.stderr).toMatch(/\nsession .* was idle for too long\n/);
    expect(cluster.get("SandboxClaim", "job")).toBeDefined();
  });
});
