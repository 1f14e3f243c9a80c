/** The answers of the control API as the published SDKs need them, where the SDK for JavaScript forgives more. @module */
import { request } from "node:http";
import { Sandbox } from "e2b";
import { describe, expect, test } from "vitest";
import { startE2B } from "./api.ts";

/** Starts the API; `send` returns the status, the headers and the body, as JSON if it is. */
async function startWire() {
  const stage = await startE2B();
  const send = async (method: string, path: string, body?: object | string, headers: Record<string, string> = {}) => {
    const answer = await fetch(stage.apiUrl + path, {
      method,
      headers: { "X-API-KEY": stage.options.apiKey, ...headers },
      ...body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) },
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === "" ? undefined : JSON.parse(text) };
  };
  return { ...stage, send };
}

/** Fields without which the models of the SDKs for Python raise a KeyError. */
const SANDBOX = ["templateID", "sandboxID", "clientID", "envdVersion"];
const LISTED = [...SANDBOX, "startedAt", "endAt", "cpuCount", "memoryMB", "diskSizeMB", "state"];
const TEMPLATE = [
  ...["templateID", "buildID", "cpuCount", "memoryMB", "diskSizeMB", "public", "aliases", "names", "createdAt"],
  ...["updatedAt", "createdBy", "lastSpawnedAt", "spawnCount", "buildCount", "envdVersion", "buildStatus"],
];

test("answers have the fields that the SDKs for Python demand, and integers where they do", async () => {
  const { send } = await startWire();
  const created = await send("POST", "/v2/sandboxes", { templateID: "base" });
  const lacks = (body: object, fields: string[]) => fields.filter((field) => !(field in body));
  const id = created.body.sandboxID;
  expect([created.status, lacks(created.body, [...SANDBOX, "envdAccessToken"])]).toEqual([201, []]);
  for (const path of [`/v2/sandboxes/${id}/connect`, `/sandboxes/${id}/connect`]) {
    const connected = await send("POST", path, { timeout: 60 });
    expect([connected.status, lacks(connected.body, [...SANDBOX, "envdAccessToken"])]).toEqual([200, []]);
    expect(connected.body.envdAccessToken).toBe(created.body.envdAccessToken);
  }
  for (const path of ["/v2/sandboxes", "/sandboxes"]) {
    const { body: [listed] } = await send("GET", path);
    expect(lacks(listed, LISTED)).toEqual([]);
    expect([listed.cpuCount, listed.memoryMB, listed.diskSizeMB].every(Number.isInteger)).toBe(true);
    expect(listed).not.toHaveProperty("envdAccessToken");
  }
  const { body: info } = await send("GET", `/sandboxes/${id}`);
  expect(lacks(info, [...LISTED, "envdAccessToken", "domain", "allowInternetAccess"])).toEqual([]);
  // The pause keeps files and no memory, and says so.
  expect(info).toMatchObject({ pauseMode: "filesystem", lifecycle: { onTimeout: "kill", autoResume: false } });
  const { body: [template] } = await send("GET", "/templates");
  expect(lacks(template, TEMPLATE)).toEqual([]);
});

test("every error is JSON with the status as its code", async () => {
  const { send, apiUrl, options } = await startWire();
  const { sandboxId } = await Sandbox.create("base", options);
  const path = `/sandboxes/${sandboxId}`;
  const none = "/sandboxes/abcdefghijklmnopqrst";
  const rows: [number, string, string, (object | string | undefined)?, Record<string, string>?][] = [
    [401, "GET", path, undefined, { "X-API-KEY": "" }],
    [401, "GET", path, undefined, { "X-API-KEY": "e2b_00" }],
    [401, "POST", "/v2/sandboxes", { templateID: "base" }, { "X-API-KEY": "wrong" }],
    [400, "POST", "/v2/sandboxes", "{"],
    [400, "POST", "/v2/sandboxes", "null"],
    [400, "POST", "/v2/sandboxes", "[]"],
    [404, "GET", none],
    [404, "DELETE", none],
    [404, "GET", "/sandboxes/%ZZ"],
    [404, "GET", "/sandboxes/..%2f..%2fsecrets"],
    ...["connect", "timeout", "pause", "refreshes", "resume"].map((verb): [number, string, string, object] => [
      ...[404, "POST", `${none}/${verb}`] as const,
      verb === "timeout" || verb === "connect" ? { timeout: 9 } : {},
    ]),
    [404, "GET", `${none}/metrics`],
    [404, "GET", `${none}/logs`],
    [404, "PUT", `${none}/network`, {}],
    [400, "POST", `${path}/connect`, {}],
    [400, "POST", `${path}/timeout`, {}],
    [400, "POST", `${path}/timeout`, { timeout: "9" }],
    [409, "POST", `${path}/resume`, {}],
    [404, "PATCH", path, {}],
    [404, "GET", "/v9/sandboxes"],
    [501, "POST", `${path}/fork`, {}],
    [501, "GET", "/volumes/a"],
  ];
  for (const [status, method, path, body, headers] of rows) {
    const answer = await send(method, path, body, headers);
    expect([answer.status, answer.headers.get("Content-Type")], `${method} ${path}`).toEqual([
      status,
      "application/json",
    ]);
    expect(answer.body, `${method} ${path}`).toEqual({ code: status, message: expect.stringMatching(/^[A-Z].{9}/) });
  }
  // A path that fetch would never send.
  const status = await new Promise((resolve, reject) =>
    request(apiUrl, { path: "//sandboxes//x", headers: { "X-API-KEY": options.apiKey } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on("error", reject).end()
  );
  expect(status).toBe(404);
});

describe("a body with a field that hookbox does not know is refused by the field's name:", () => {
  test.each([
    ["POST", "/v2/sandboxes/ID/connect", { timeout: 60, surprise: 1 }],
    ["POST", "/sandboxes/ID/connect", { timeout: 60, surprise: 1 }],
    ["POST", "/sandboxes/ID/timeout", { timeout: 60, surprise: 1 }],
    ["POST", "/sandboxes/ID/refreshes", { duration: 60, surprise: 1 }],
    ["POST", "/sandboxes/ID/pause", { memory: true, surprise: 1 }],
    ["POST", "/sandboxes/ID/resume", { timeout: 60, surprise: 1 }],
    ["PUT", "/sandboxes/ID/network", { surprise: 1 }],
  ])("%s %s", async (method, path, body) => {
    const { send, options } = await startWire();
    const { sandboxId } = await Sandbox.create("base", options);
    const before = await Sandbox.getInfo(sandboxId, options);
    expect(await send(method, path.replace("ID", sandboxId), body)).toMatchObject({
      status: 400,
      body: { message: "Request is not valid: surprise is not supported" },
    });
    expect(await Sandbox.getInfo(sandboxId, options)).toEqual(before);
  });
});

test.each([
  [{}, "templateID is missing"],
  [{ templateID: 1 }, "templateID must be a string"],
  [{ templateID: "base", timeout: "9" }, "timeout must be a number"],
  [{ templateID: "base", timeout: 9.5 }, "timeout must be an integer"],
  [{ templateID: "base", metadata: { a: 1 } }, "metadata.a must be a string"],
  [{ templateID: "base", envVars: [] }, "envVars must be an object"],
  [[], "must be an object"],
])("a creation with %j is refused plainly", async (body, text) => {
  const { send } = await startWire();
  const { status, body: { message } } = await send("POST", "/v2/sandboxes", body);
  expect([status, message]).toEqual([400, `Request is not valid: ${text}`]);
});

test("what the SDKs, the command line and clients of the old paths send is served", async () => {
  const { send, options } = await startWire();
  const { sandboxId } = await Sandbox.create("base", { ...options, timeoutMs: 60_000 });
  const path = `/sandboxes/${sandboxId}`;
  const statuses: number[] = [];
  const ask = async (...request: Parameters<typeof send>) => void statuses.push((await send(...request)).status);
  await ask("POST", `${path}/pause`, { memory: true });
  await ask("POST", `${path}/resume`, { timeout: 60, autoPause: false });
  await ask("POST", `${path}/pause`);
  await ask("POST", `${path}/resume`, { timeout: 60, autoPause: true });
  await ask("POST", `/v2${path}/connect`, { timeout: 60, memory: false });
  await ask("POST", `${path}/pause`, {});
  await ask("POST", `${path}/connect`, { timeout: 60 });
  await ask("POST", `${path}/refreshes`, { duration: 600 });
  expect(statuses).toEqual([204, 201, 204, 400, 201, 204, 201, 204]);
  const { endAt } = await Sandbox.getInfo(sandboxId, options);
  await send("POST", `${path}/refreshes`);
  expect((await Sandbox.getInfo(sandboxId, options)).endAt).toEqual(endAt);
});

test.each([
  [{ autoPauseMemory: false }, /autoPauseMemory needs autoPause/],
  [{ autoPauseMemory: false, autoPause: true, autoResume: { enabled: true } }, /together with autoResume/],
])("a creation with %j is refused", async (fields, message) => {
  const { send } = await startWire();
  const answer = await send("POST", "/v2/sandboxes", { templateID: "base", ...fields });
  expect(answer).toMatchObject({ status: 400, body: { message: expect.stringMatching(message) } });
  const asked = { templateID: "base", autoPause: true, autoPauseMemory: false };
  const { status, body } = await send("POST", "/v2/sandboxes", asked);
  expect(status).toBe(201);
  const { body: info } = await send("GET", `/sandboxes/${body.sandboxID}`);
  expect(info.lifecycle).toEqual({ onTimeout: "pause", autoResume: false });
});
