/**
 * What each key and token allows, in two tables: every route of the control API by API key, and every route in a
 * sandbox by what the client holds. A route without a row fails.
 * @module
 */
import { Buffer } from "node:buffer";
import type { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { fileSignature, sandboxID, tokenOf } from "../../packages/api/e2b/identity.ts";
import { type Right, RIGHTS } from "../../packages/api/e2b/objects.ts";
import { createEnvd } from "../../packages/runtime/e2b/envd/envd.ts";
import { createInterpreter } from "../../packages/runtime/e2b/interpreter/interpreter.ts";
import { Filesystem } from "../../packages/runtime-api/gen/e2b/filesystem_pb.ts";
import { Process } from "../../packages/runtime-api/gen/e2b/process_pb.ts";
import { eventually } from "../eventually.ts";
import { fetchFrom } from "../router/client.ts";
import { DOMAIN, SECRET as ROUTER_SECRET, startE2BRouter } from "../router/e2bstage.ts";
import { aKey, putKeys, SECRET, startE2B } from "./api.ts";

/** What a call answers: a status, and what the body matches. */
type Expected = readonly [status: number, body?: object];

/** A route of the control API. `:id` is a sandbox of `team-a`. */
interface Row {
  route: string;
  needs: Right;
  /** The body that is sent. */
  body?: object;
  /** For a key of the project that has the right. */
  own: Expected;
  /** For a key of another project. Absent: the sandbox "was not found". */
  other?: Expected;
}

const TOKENS = { envdAccessToken: expect.stringMatching(/^[\w-]{43}$/) };
const A_SANDBOX = { sandboxID: expect.stringMatching(/^[a-d][0-9a-z]{19}$/), ...TOKENS };
const RUNNING = { state: "running" };
const UNSERVED: Expected = [501, { code: 501, message: expect.stringMatching(/ not supported by hookbox: /) }];
const CREATED = {
  needs: "create",
  body: { templateID: "base" },
  own: [201, A_SANDBOX],
  other: [201, A_SANDBOX],
} as const;
const LISTED = { needs: "read", own: [200, [RUNNING]], other: [200, []] } as const;

const ROWS: Row[] = [
  { route: "GET /v2/sandboxes", ...LISTED },
  { route: "GET /sandboxes", ...LISTED },
  { route: "POST /v2/sandboxes", ...CREATED },
  { route: "POST /sandboxes", ...CREATED },
  { route: "GET /sandboxes/:id", needs: "read", own: [200, RUNNING] },
  { route: "GET /sandboxes/:id/metrics", needs: "read", own: [200, []] },
  { route: "GET /sandboxes/:id/logs", needs: "read", own: [200, { logs: [] }] },
  { route: "GET /v2/sandboxes/:id/logs", needs: "read", own: [200, { logs: [] }] },
  { route: "POST /v2/sandboxes/:id/connect", needs: "connect", own: [200, TOKENS] },
  { route: "POST /sandboxes/:id/connect", needs: "connect", body: { timeout: 60 }, own: [200, TOKENS] },
  {
    route: "POST /sandboxes/:id/resume",
    needs: "connect",
    own: [409, { message: expect.stringMatching(/ is running$/) }],
  },
  { route: "POST /sandboxes/:id/timeout", needs: "create", body: { timeout: 60 }, own: [204] },
  { route: "POST /sandboxes/:id/refreshes", needs: "create", own: [204] },
  { route: "POST /sandboxes/:id/pause", needs: "create", own: [204] },
  { route: "PUT /sandboxes/:id/network", needs: "create", body: {}, own: [204] },
  { route: "DELETE /sandboxes/:id", needs: "create", own: [204] },
  {
    route: "GET /templates",
    needs: "read",
    own: [200, [{ names: ["team-a/base", "team-a/code-interpreter-v1"] }, {}]],
    other: [200, [{ names: ["team-b/base", "team-b/code-interpreter-v1"] }, {}]],
  },
  {
    route: "GET /templates/aliases/:alias",
    needs: "read",
    own: [200, { templateID: "python" }],
    other: [404, { code: 404, message: 'Template "team-a/base" was not found' }],
  },
  ...[
    ...["POST /sandboxes/:id/fork", "POST /sandboxes/:id/snapshots", "GET /snapshots", "GET /sandboxes/metrics"],
    ...["POST /templates/tags", "DELETE /templates/tags", "GET /templates/:id/tags", "DELETE /templates/:id"],
    ...["POST /v3/templates", "POST /v2/templates", "POST /templates", "PATCH /v2/templates/:id"],
    ...["GET /templates/:id/builds", "GET /templates/:id/files"],
    ...["GET /volumes", "POST /volumes", "DELETE /volumes", "GET /secrets", "POST /secrets", "DELETE /secrets"],
  ].flatMap((route) =>
    [route, `${route}/*`].map((each): Row => ({ route: each, needs: "read", own: UNSERVED, other: UNSERVED }))
  ),
];

/** A call that the table describes, as a client sends it. */
async function send(apiUrl: string, { route, body }: Row, id: string, key: string | undefined) {
  const [method = "", pattern = ""] = route.split(" ");
  const path = pattern.replace(":id", id).replace(":alias", "team-a%2Fbase").replace("*", "more");
  const answer = await fetch(apiUrl + path, {
    method,
    headers: key === undefined ? {} : { "X-API-KEY": key },
    ...body ? { body: JSON.stringify(body) } : {},
  });
  const text = await answer.text();
  const headers = Object.fromEntries(
    [...answer.headers].filter(([name]) => !["date", "content-length"].includes(name)),
  );
  return { status: answer.status, headers, body: text === "" ? undefined : JSON.parse(text) as object };
}

function whatIs([status, body]: Expected) {
  return { status, ...body ? { body } : {} };
}

describe("the control API", () => {
  const KEYS: Record<string, readonly Right[]> = {
    main: RIGHTS,
    ...Object.fromEntries(RIGHTS.map((right) => [right, [right]])),
  };

  /** Starts the API with keys of each right, and `revoked`, which is none any more; and a sandbox of `team-a`. */
  async function start() {
    const server = await startE2B();
    const { cluster, apiUrl } = server;
    const path = "/api/v1/namespaces/team-a/secrets/hookbox-e2b-keys";
    await cluster.api.send({ method: "DELETE", path });
    await putKeys(cluster, "team-a", { ...KEYS, revoked: RIGHTS });
    const listing = (name: string) => async () =>
      (await fetch(`${apiUrl}/sandboxes`, { headers: { "X-API-KEY": aKey("team-a", name) } })).status;
    await eventually(listing("revoked")).toBe(200);
    await cluster.api.send({ method: "PATCH", path, body: { data: { revoked: null } } });
    await eventually(listing("revoked")).toBe(401);
    const create = async () => {
      const { body } = await send(apiUrl, { route: "POST /v2/sandboxes", ...CREATED }, "", aKey("team-a"));
      return (body as { sandboxID: string }).sandboxID;
    };
    const read = (id: string) => send(apiUrl, { route: "GET /sandboxes/:id", ...LISTED }, id, aKey("team-a"));
    return { ...server, create, read };
  }

  test("has a row for each of its routes", async () => {
    const { app } = await startE2B();
    const served = app.routes.filter(({ method }) => method !== "ALL");
    const routes = served.map(({ method, path }) => `${method} ${path.replace(/\{.*\}/, "")}`);
    expect(ROWS.map(({ route }) => route).sort()).toEqual([...new Set(routes)].sort());
  });

  test("answers 401 without a key, and with a key that is malformed, unknown or revoked", async () => {
    const { apiUrl, create, read } = await start();
    const id = await create();
    const before = await read(id);
    const missing = { code: 401, message: expect.stringMatching(/^API key is missing: /) };
    const unknown = { code: 401, message: expect.stringMatching(/^API key is not valid: /) };
    const key = aKey("team-a");
    const invalid = ["x", "e2b_", "e2b_00", `${key}0`, key.slice(0, -2), key.toUpperCase(), `Bearer ${key}`];
    const keys = [...invalid, aKey("team-a", "other"), aKey("nowhere"), aKey("team-a", "revoked")];
    for (const row of ROWS) {
      expect(await send(apiUrl, row, id, undefined), row.route).toMatchObject({ status: 401, body: missing });
      expect(await send(apiUrl, row, id, ""), row.route).toMatchObject({ status: 401, body: missing });
      for (const each of keys) {
        expect(await send(apiUrl, row, id, each), `${row.route} ${each}`).toMatchObject({ status: 401, body: unknown });
      }
    }
    expect(await read(id)).toEqual(before);
  });

  test("answers a key of another project as if the sandbox did not exist", async () => {
    const { apiUrl, create, read } = await start();
    const id = await create();
    const before = await read(id);
    const never = sandboxID(SECRET, "team-a", { isPublic: true, autoResume: false }, Buffer.alloc(16, 1));
    for (const row of ROWS) {
      const { status, headers, body } = await send(apiUrl, row, id, aKey("team-b"));
      const absent: Expected = [404, { code: 404, message: `Sandbox "${id}" was not found` }];
      expect({ status, body }, row.route).toMatchObject(whatIs(row.other ?? absent));
      if (!row.route.includes(":id")) continue;
      for (const other of [never, "x"]) {
        const answer = await send(apiUrl, row, other, aKey("team-b"));
        const same = JSON.parse(JSON.stringify(body).replaceAll(id, other));
        expect(answer, row.route).toEqual({ status, headers, body: same });
      }
    }
    expect(await read(id)).toEqual(before);
  });

  test.each(RIGHTS)("gives a key with the right %s what this right allows, and nothing else", async (right) => {
    const { apiUrl, create, read } = await start();
    const id = await create();
    const before = await read(id);
    const message = (needs: Right) => `API key "${right}" may not ${needs}: it has the rights ${right}`;
    for (const row of ROWS.filter(({ needs }) => needs !== right)) {
      const refused = { code: 403, message: message(row.needs) };
      const { status, body } = await send(apiUrl, row, id, aKey("team-a", right));
      expect({ status, body }, row.route).toEqual({ status: 403, body: refused });
    }
    expect(await read(id)).toEqual(before);
    const allowed = ROWS.filter(({ needs }) => needs === right);
    for (const row of allowed) {
      // Of its own, as the call may end it. Only one exists when sandboxes are listed.
      const own = row.route.includes(":id") ? await create() : id;
      const { status, body } = await send(apiUrl, row, own, aKey("team-a", right));
      expect({ status, body }, row.route).toMatchObject(whatIs(row.own));
      if (right === "read") expect(JSON.stringify(body), row.route).not.toMatch(/AccessToken/);
    }
    expect(allowed.length).toBeGreaterThan(0);
  });

  test("repeats a creation for its own project only", async () => {
    const { apiUrl } = await start();
    const create = async (key: string) => {
      const headers = { "X-API-KEY": key, "Idempotency-Key": "same" };
      const answer = await fetch(`${apiUrl}/v2/sandboxes`, { method: "POST", headers, body: '{"templateID":"base"}' });
      return (await answer.json() as { sandboxID: string }).sandboxID;
    };
    const first = await create(aKey("team-a"));
    expect(await create(aKey("team-a"))).toBe(first);
    expect(await create(aKey("team-b"))).not.toBe(first);
  });
});

/** A route of a port of a sandbox. */
interface Port {
  port: number;
  route: string;
  /**
   * What a client must hold: the access token; for `file`, a signature also does; for `traffic`, the traffic token also
   * does, and a public sandbox needs none.
   */
  needs: "nothing" | "access" | "file" | "traffic";
}

const methodsOf = ({ typeName, methods }: typeof Process | typeof Filesystem) =>
  methods.map(({ name }) => `POST /${typeName}/${name}`);

const PORTS: Port[] = [
  { port: 49_983, route: "GET /health", needs: "nothing" },
  { port: 49_983, route: "GET /files", needs: "file" },
  { port: 49_983, route: "POST /files", needs: "file" },
  { port: 49_983, route: "GET /envs", needs: "access" },
  { port: 49_983, route: "GET /metrics", needs: "access" },
  ...[
    ...["Start", "Connect", "List", "SendInput", "StreamInput", "SendSignal", "CloseStdin", "Update"].map((name) =>
      `POST /process.Process/${name}`
    ),
    ...["Stat", "ListDir", "MakeDir", "Move", "Remove", "WatchDir", "CreateWatcher", "GetWatcherEvents"].map((name) =>
      `POST /filesystem.Filesystem/${name}`
    ),
    "POST /filesystem.Filesystem/RemoveWatcher",
  ].map((route): Port => ({ port: 49_983, route, needs: "access" })),
  { port: 49_983, route: "POST /init", needs: "access" },
  { port: 49_999, route: "GET /health", needs: "traffic" },
  { port: 49_999, route: "POST /execute", needs: "access" },
  { port: 49_999, route: "GET /contexts", needs: "traffic" },
  { port: 49_999, route: "POST /contexts", needs: "traffic" },
  { port: 49_999, route: "DELETE /contexts/:id", needs: "traffic" },
  { port: 49_999, route: "POST /contexts/:id/restart", needs: "traffic" },
  { port: 8080, route: "GET /v1/files", needs: "access" },
  { port: 8888, route: "POST /execute", needs: "access" },
  { port: 9090, route: "GET /", needs: "access" },
  { port: 3000, route: "GET /", needs: "traffic" },
];

describe("a sandbox", () => {
  const UNREACHED: Record<string, Expected> = {
    access: [401, { code: 401, message: expect.stringMatching(/^Access token is missing or not valid: /) }],
    traffic: [403, { code: 403, message: expect.stringMatching(/^Traffic token is missing or not valid: /) }],
  };

  /** Headers by what a client holds, and what this is good for. */
  function clientsOf({ id, access, traffic }: Awaited<ReturnType<typeof startE2BRouter>>) {
    const both = (token: string) => ({ "X-Access-Token": token, "E2b-Traffic-Access-Token": token });
    const of = (namespace: string, uid: string) => ({
      "X-Access-Token": tokenOf(ROUTER_SECRET, "access", { namespace, id, uid }),
      "E2b-Traffic-Access-Token": tokenOf(ROUTER_SECRET, "traffic", { namespace, id, uid }),
    });
    return [
      { name: "nothing", headers: {}, holds: "nothing" },
      { name: "a text that is no token", headers: both("x"), holds: "nothing" },
      { name: "an API key of the project", headers: { ...both(aKey("team-a")), "X-API-KEY": aKey("team-a") } },
      { name: "the tokens of a former sandbox of this ID", headers: of("team-a", "uid-former") },
      { name: "the tokens of a sandbox of another project", headers: of("team-b", "uid-claim") },
      { name: "the tokens in each other's place", headers: { ...both(access), "X-Access-Token": traffic } },
      { name: "the traffic token", headers: { "E2b-Traffic-Access-Token": traffic }, holds: "traffic" },
      { name: "the access token", headers: { "X-Access-Token": access }, holds: "access" },
    ];
  }

  test("has a row for each route of its two servers for E2B's clients", () => {
    const options = { stop: new AbortController().signal, root: {}, users: {}, log: () => {} } as never;
    const served = (app: Hono, port: number) =>
      app.routes.filter(({ method }) => method !== "ALL" && method !== "OPTIONS").map(({ method, path }) =>
        `${port} ${method} ${path}`
      );
    const calls = [...methodsOf(Process), ...methodsOf(Filesystem)].map((route) => `49983 ${route}`);
    const http = served(createEnvd(options) as never, 49_983).filter((route) => !route.endsWith("/:service/:method"));
    const routes = [...http, ...calls, ...served(createInterpreter(options) as never, 49_999)];
    const rows = PORTS.map(({ port, route }) => `${port} ${route}`);
    expect(rows).toEqual(expect.arrayContaining(routes));
    expect(calls.length + http.length).toBeGreaterThan(20);
  });

  test.each([true, false])(
    "admits by headers and by host only clients with its tokens; public: %s",
    async (isPublic) => {
      const ports = [...new Set(PORTS.map(({ port }) => port))];
      const stage = await startE2BRouter({ traits: { isPublic }, ports, authz: "tokenreview" });
      for (const { port, route, needs } of PORTS) {
        const [method = "", path = ""] = route.split(" ");
        for (const { name, headers, holds = "nothing" } of clientsOf(stage)) {
          const isOpen = needs === "nothing" || (needs === "traffic" && (isPublic || holds === "traffic"));
          const expected = isOpen || holds === "access" ? [200] : UNREACHED[needs === "traffic" ? needs : "access"];
          for (const target of [port, `${port}-${stage.id}.${DOMAIN}`]) {
            const { status, body } = await stage.ask(target, path, headers as Record<string, string>, method);
            expect({ status, body }, `${target} ${route} with ${name}`).toMatchObject(whatIs(expected as Expected));
          }
        }
      }
    },
  );

  test("opens to a signed URL the file that is signed, and no other route", async () => {
    const ports = [...new Set(PORTS.map(({ port }) => port))];
    const { id, access, port: router } = await startE2BRouter({ traits: { isPublic: false }, ports });
    for (const { port, route, needs } of PORTS) {
      const [method = "", path = ""] = route.split(" ");
      const operation = method === "GET" ? "read" : "write";
      const signature = fileSignature({ path: "a", operation, user: "", expiration: undefined }, access);
      const options = { method, headers: { Host: `${port}-${id}.${DOMAIN}` } };
      const signed = `${path}?${new URLSearchParams({ path: "a", signature })}`;
      const { status } = await fetchFrom(router, { ...options, path: signed });
      const admits = needs === "file" || needs === "nothing";
      expect(status, `${port} ${route}`).toBe(admits ? 200 : needs === "traffic" ? 403 : 401);
      const forged = signed.replace(/signature=.*/, `signature=v1_${"A".repeat(43)}`);
      const refused = await fetchFrom(router, { ...options, path: forged });
      expect(refused.status, `${port} ${route}`).toBe(needs === "nothing" ? 200 : needs === "traffic" ? 403 : 401);
    }
  });

  test("of another project, or that does not exist, is not found, whatever the client holds", async () => {
    const stage = await startE2BRouter();
    const namesOf = (namespace: string) =>
      sandboxID(ROUTER_SECRET, namespace, { isPublic: true, autoResume: false }, FEW);
    const asked = [namesOf("team-b"), namesOf("nowhere"), "x"].flatMap((id) =>
      clientsOf(stage).map(async ({ name, headers }) => {
        const found = await stage.ask(`49983-${id}.${DOMAIN}`, "/health", headers as Record<string, string>);
        const body = { sandboxId: id, message: "The sandbox was not found", code: 502 };
        expect(found, `${id} with ${name}`).toEqual({ status: 502, body });
      })
    );
    expect(await Promise.all(asked)).toHaveLength(24);
  });
});

const FEW = Buffer.alloc(16, 9);
