/** Requests of E2B's clients at the router: how they name a sandbox, what admits them, and what refusals look like. @module */
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { fileSignature, sandboxID } from "../../packages/api/e2b/identity.ts";
import { eventually } from "../eventually.ts";
import { fetchFrom, open } from "./client.ts";
import { DOMAIN, SECRET, startE2BRouter as start } from "./e2bstage.ts";
import { SANDBOXES, startRouter, textOf } from "./stage.ts";

const READY = {
  ...{ type: "Ready", status: "True", reason: "DependenciesReady", message: "It runs" },
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

describe("a request names its sandbox", () => {
  test("by host, or by headers; the host wins, and the sandbox sees neither token", async () => {
    const { ask, id, access } = await start();
    const token = { "X-Access-Token": access, "E2b-Traffic-Access-Token": "t" };
    const byHost = await ask(`49983-${id}.${DOMAIN}`, "/process.Process/List?a=%2F", token);
    expect(byHost.body).toMatchObject({ port: 49_983, url: "/process.Process/List?a=%2F" });
    expect(byHost.body["headers"]).not.toHaveProperty("x-access-token");
    expect(byHost.body["headers"]).not.toHaveProperty("e2b-traffic-access-token");
    expect((await ask(49_983, "/x", token)).body).toMatchObject({ port: 49_983, url: "/x" });
    const both = await ask(`3000-${id}.${DOMAIN}`, "/", { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983" });
    expect(both.body).toMatchObject({ port: 3000 });
    const shared = { Host: `sandbox.${DOMAIN}`, ...token };
    expect((await ask(49_983, "//process.Process/List", shared)).body).toMatchObject({ url: "/process.Process/List" });
  });

  test("an ID of another namespace, a claim without an ID, and a port that is none are refused", async () => {
    const { ask, id } = await start();
    const foreign = sandboxID(SECRET, "team-b", { isPublic: true, autoResume: false }, Buffer.alloc(16, 7));
    for (const name of [foreign, "pool1", id.slice(1), `${id}x`]) {
      const { status, body } = await ask(3000, "/", { "E2b-Sandbox-Id": name });
      expect({ status, body }).toEqual({
        status: 502,
        body: { sandboxId: name, message: "The sandbox was not found", code: 502 },
      });
    }
    expect(await ask(3000, "/", { "E2b-Sandbox-Port": "99999" })).toMatchObject({ status: 400, body: { code: 400 } });
  });

  test("a claim of the same name in another namespace is never reached", async () => {
    const { api, ask, id } = await start();
    const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: id, uid: "other" };
    api.put(`${SANDBOXES.replace("team-a", "team-b")}/evil`, {
      ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", spec: { operatingMode: "Running" } },
      metadata: {
        name: "evil",
        namespace: "team-b",
        uid: "uid-evil",
        ownerReferences: [{ ...owner, controller: true }],
      },
    });
    for (let i = 0; i < 5; i++) expect((await ask(3000, "/")).body).toMatchObject({ port: 3000 });
  });

  test("a request with two Host headers is refused", async () => {
    const { port, id } = await start();
    const socket = connect(port, "127.0.0.1");
    socket.end(`GET / HTTP/1.1\r\nHost: 3000-${id}.${DOMAIN}\r\nHost: other.example\r\n\r\n`);
    expect(await textOf(socket)).toMatch(/^HTTP\/1.1 400 /);
  });

  test("a Sandbox that the watch shows a moment later is waited for", async () => {
    const { ask, put, id } = await start({ owner: { name: "a-former-claim" } });
    const asked = ask(3000, "/");
    put({}, { name: id });
    expect((await asked).body).toMatchObject({ port: 3000 });
  });
});

describe("what admits a client", () => {
  const open_ = { status: 200 };
  const none = { status: 401, body: { code: 401 } };
  const forbidden = { status: 403, body: { code: 403 } };
  const ROWS: [
    port: number,
    path: string,
    isPublic: boolean,
    token: "none" | "access" | "traffic" | "wrong",
    object,
  ][] = [
    [49_983, "/health", false, "none", open_],
    [49_983, "/process.Process/Start", true, "none", none],
    [49_983, "/process.Process/Start", true, "traffic", none],
    [49_983, "/process.Process/Start", true, "wrong", none],
    [49_983, "/process.Process/Start", true, "access", open_],
    [49_983, "/files?path=a", true, "none", none],
    [49_983, "/files?path=a", true, "access", open_],
    [49_983, "/healthz", true, "none", none],
    [49_999, "/execute", true, "none", none],
    [49_999, "/execute", true, "access", open_],
    [49_999, "/execute#", true, "none", none],
    [49_999, "//execute#?", true, "none", none],
    [49_999, "/execute/", true, "none", none],
    [49_999, "/contexts/a/execute", true, "none", none],
    [49_999, "/contexts/a/restart", true, "none", open_],
    [49_999, "/contexts", true, "none", open_],
    [49_999, "/contexts", false, "none", forbidden],
    [49_999, "/contexts", false, "traffic", open_],
    [3000, "/", true, "none", open_],
    [3000, "/", false, "none", forbidden],
    [3000, "/", false, "wrong", forbidden],
    [3000, "/", false, "traffic", open_],
    [3000, "/", false, "access", open_],
    [8080, "/v1/files", true, "none", none],
    [8080, "/v1/files", true, "traffic", none],
    [8888, "/execute", true, "none", none],
    [9090, "/", true, "none", none],
  ];
  test.each(ROWS)("port %i, %s, public %s, token %s", async (port, path, isPublic, token, expected) => {
    const { ask, access, traffic } = await start({ traits: { isPublic }, authz: "tokenreview" });
    const headers: Record<string, string> = {
      ...token === "access" ? { "X-Access-Token": access } : {},
      ...token === "traffic" ? { "E2b-Traffic-Access-Token": traffic } : {},
      ...token === "wrong" ? { "X-Access-Token": traffic, "E2b-Traffic-Access-Token": access } : {},
    };
    expect(await ask(port, path, headers)).toMatchObject(expected);
  });

  test("a signature admits to its file, its method and its time; a wrong token beats it", async () => {
    const { ask, id, access } = await start();
    const host = `49983-${id}.${DOMAIN}`;
    const url = (file: Partial<Parameters<typeof fileSignature>[0]>, over: Record<string, string> = {}) => {
      const { path = "a+b/ü", operation = "read", user = "", expiration } = file;
      const signature = fileSignature({ path, operation, user, expiration }, access);
      const optional = { ...user ? { username: user } : {}, ...expiration ? { signature_expiration: expiration } : {} };
      return `/files?${new URLSearchParams({ path, ...optional, signature, ...over })}`;
    };
    const soon = String(Math.floor(Date.now() / 1000) + 60);
    expect((await ask(host, url({}))).status).toBe(200);
    expect((await ask(host, url({ user: "root", expiration: soon }))).status).toBe(200);
    expect((await ask(host, url({ operation: "write" }), {}, "POST")).status).toBe(200);
    expect((await ask(host, url({ operation: "write" }))).status).toBe(401);
    expect((await ask(host, url({}), {}, "POST")).status).toBe(401);
    expect((await ask(host, url({}, { path: "other" }))).status).toBe(401);
    expect((await ask(host, url({}, { username: "root" }))).status).toBe(401);
    expect((await ask(host, url({ expiration: "1700000000" }))).status).toBe(401);
    expect((await ask(host, url({ expiration: soon }, { signature_expiration: "9999999999" }))).status).toBe(401);
    expect((await ask(host, url({}), { "X-Access-Token": "wrong" })).status).toBe(401);
    expect((await ask(host, url({}).replace("/files", "/envs"))).status).toBe(401);
    // The runtime would read another path or user than the router.
    const [, query = ""] = url({ operation: "write" }).split("?");
    const tricks = [`?${query}&path=other`, `${query}&path=other`, `${query}&username=root`, `x=#&${query}`];
    for (const trick of tricks) {
      expect([trick, (await ask(host, `/files?${trick}`, {}, "POST")).status]).toEqual([trick, 401]);
    }
  });

  test("tokens of a former claim of that name admit nobody", async () => {
    const { ask, access } = await start({ owner: { uid: "uid-later" } });
    expect((await ask(49_983, "/x", { "X-Access-Token": access })).status).toBe(401);
  });

  test("pages of all origins may use commands and files with a token, and programs see where a request comes from", async () => {
    const { ask, port, id, access } = await start();
    const Origin = "https://page.example";
    const headers = { "X-Access-Token": access, Origin };
    expect((await ask(49_983, "/x", headers)).body["headers"]).not.toHaveProperty("origin");
    expect((await ask(3000, "/x", headers)).body["headers"]).toMatchObject({ origin: Origin });
    expect((await ask(3000, "/x", headers)).body["headers"]).not.toHaveProperty("x-sandbox-anonymous");
    expect((await ask(3000, "/x")).body["headers"]).toHaveProperty("x-sandbox-anonymous", "true");
    for (const [to, allowed] of [[49_983, "*"], [49_999, "*"], [3000, undefined]] as const) {
      const naming = { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": String(to) };
      const answer = await fetchFrom(port, { path: "/x", headers: { ...headers, ...naming } });
      expect([answer.status, answer.headers["access-control-allow-origin"]], `${to}`).toEqual([200, allowed]);
    }
    const asked = (list: string) =>
      fetchFrom(port, {
        method: "OPTIONS",
        path: "/process.Process/List",
        headers: { Origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": list },
      });
    expect(await asked("content-type,e2b-sandbox-id,x-access-token")).toMatchObject({
      status: 204,
      headers: { "access-control-allow-origin": "*", "access-control-allow-headers": "*, Authorization" },
    });
    expect((await asked("content-type")).status).toBe(400);
    const refused = await fetchFrom(port, { path: "/x", headers: { "E2b-Sandbox-Id": id, Origin } });
    expect(refused).toMatchObject({ status: 401, headers: { "access-control-allow-origin": "*" } });
  });

  test("Authorization is for the sandbox: the user of a command, or a program's own; not for the runtime's own API", async () => {
    const { ask, access } = await start({ ports: [49_983, 49_999, 3000, 8888] });
    const headers = { "X-Access-Token": access, Authorization: "Basic cm9vdDo=" };
    for (const port of [49_983, 49_999, 3000]) {
      expect((await ask(port, "/x", headers)).body["headers"]).toHaveProperty("authorization", headers.Authorization);
    }
    expect((await ask(8888, "/x", headers)).body["headers"]).not.toHaveProperty("authorization");
    const anonymous = { Authorization: "Bearer of-the-program" };
    const seen = (await ask(3000, "/x", anonymous)).body["headers"];
    expect(seen).toMatchObject({ authorization: anonymous.Authorization, "x-sandbox-anonymous": "true" });
  });

  test("a router without --e2b-secret-file knows no such requests", async () => {
    const { port } = await startRouter();
    const { status, text } = await fetchFrom(port, { path: "/", headers: { "E2b-Sandbox-Id": "a".repeat(20) } });
    expect({ status, text }).toMatchObject({ status: 400, text: '{"detail":"X-Sandbox-ID header is required."}' });
  });
});

describe("refusals", () => {
  test("a port on which nothing listens, and a paused sandbox", async () => {
    const { ask, id, put } = await start();
    expect(await ask(3001, "/")).toEqual({
      status: 502,
      body: { sandboxId: id, message: "The sandbox is running but port is not open", port: 3001, code: 502 },
    });
    put({ operatingMode: "Suspended" });
    await eventually(() => ask(3000, "/")).toEqual({
      status: 502,
      body: { sandboxId: id, message: "The sandbox was not found", code: 502 },
    });
  });

  test("a sandbox that was just resumed is reached, although the watch shows it suspended", async () => {
    const { ask, put } = await start();
    put({ operatingMode: "Suspended" });
    await eventually(() => ask(3000, "/")).toMatchObject({ status: 502 });
    const [asked, again] = [ask(3000, "/"), ask(3000, "/")];
    put({}, {}, { conditions: [READY] });
    expect(await asked).toMatchObject({ status: 200, body: { port: 3000 } });
    expect(await again).toMatchObject({ status: 200, body: { port: 3000 } });
  });

  test("a sandbox that ends cuts its open streams", async () => {
    const { api, id, port } = await start();
    const headers = { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "3000" };
    const stream = await open(port, { path: "/stream", headers });
    const ended = textOf(stream).then((text) => text, (error) => error.code);
    api.remove(`${SANDBOXES}/pool-1`);
    expect(await ended).toBe("ECONNRESET");
  });
});
