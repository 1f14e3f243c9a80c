/** Serves E2B's control API as an app: routes, authentication, answers and errors. @module */
import { createHash } from "node:crypto";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { tokenOf } from "../api/e2b/identity.ts";
import type { Right } from "../api/e2b/objects.ts";
import { errorFields, type Log } from "../process/log.ts";
import type { E2BSandbox } from "./claim.ts";
import type { E2BMetrics } from "./metrics.ts";
import type { Inside } from "./inside.ts";
import type { Caller, Keys } from "./keys.ts";
import { changedNetworkSchema } from "./network.ts";
import { Problem, problemOf } from "./problem.ts";
import {
  connectSchema,
  createSchema,
  listQuery,
  parseBody,
  pauseSchema,
  refreshSchema,
  resumeSchema,
  timeoutSchema,
  tokenOfPage,
} from "./requests.ts";
import type { E2BSandboxes } from "./sandboxes.ts";
import type { Template, Templates } from "./templates.ts";

/** Version of envd's protocol in the runtime. E2B's SDKs compare it to decide what a sandbox can do. */
const ENVD_VERSION = "0.6.13";

/** What the app works with. */
export interface AppParts {
  keys: Keys;
  sandboxes: E2BSandboxes;
  templates: Templates;
  inside: Inside;
  metrics: Pick<E2BMetrics, "middleware">;
  secrets(): readonly Uint8Array[];
  /** Domain of the router, which SDKs use for the hosts of ports; undefined: SDKs use their own setting. */
  domain: string | undefined;
  /** Path before all routes; empty: none. */
  prefix: string;
  log: Log;
}

const MOST_BODY_BYTES = 1024 * 1024;
/** Defaults of `timeout`, in seconds. Source: E2B's API, versions 2 and 1. */
const DEFAULT_S = { v2: 300, v1: 15 };
const LEAST_REFRESH_S = 15;
/** Clients must send it in older versions, and nothing reads it. */
const CLIENT_ID = "hookbox";
const IDEMPOTENCY_KEY = /^[a-z0-9-]{1,255}$/;

const UNSERVED: [method: string, path: string, what: string][] = [
  ["POST", "/sandboxes/:id/fork", "Forks are"],
  ["POST", "/sandboxes/:id/snapshots", "Snapshots are"],
  ["GET", "/snapshots", "Snapshots are"],
  ["POST", "/templates/tags", "Tags of templates are"],
  ["DELETE", "/templates/tags", "Tags of templates are"],
  ["GET", "/templates/:id/tags", "Tags of templates are"],
  ["POST", "/v3/templates", "Building templates is"],
  ["POST", "/v2/templates", "Building templates is"],
  ["POST", "/templates", "Building templates is"],
  ["DELETE", "/templates/:id", "Deleting templates by this API is"],
  ["PATCH", "/v2/templates/:id", "Publishing templates is"],
  ["GET", "/templates/:id/builds", "Building templates is"],
  ["GET", "/templates/:id/files", "Building templates is"],
  ...["GET", "POST", "DELETE"].flatMap((method): [string, string, string][] => [
    [method, "/volumes", "Volumes are"],
    [method, "/secrets", "Secrets are"],
  ]),
];

/** Creates the app. */
export function createApp(
  { keys, sandboxes, templates, inside, metrics, secrets, domain, prefix, log }: AppParts,
): Hono {
  const app = prefix === "" ? new Hono() : new Hono().basePath(prefix);
  const caller = (c: Context, right: Right): Caller => keys.callerOf(c.req.header("X-API-KEY"), right);
  const idOf = (c: Context) => c.req.param("id") ?? "";
  const body = async <T>(c: Context, schema: Parameters<typeof parseBody<T>>[0]) =>
    parseBody(schema, await c.req.text());

  const described = (sandbox: E2BSandbox, withTokens = true) => {
    const { id, facts, namespace, uid, traits } = sandbox;
    const [secret] = secrets() as [Uint8Array];
    const identity = { namespace, id, uid };
    return {
      sandboxID: id,
      templateID: facts.template,
      alias: facts.alias,
      clientID: CLIENT_ID,
      envdVersion: ENVD_VERSION,
      ...withTokens
        ? {
          envdAccessToken: tokenOf(secret, "access", identity),
          trafficAccessToken: traits.isPublic ? null : tokenOf(secret, "traffic", identity),
        }
        : {},
      domain: domain ?? null,
    };
  };
  const listed = (sandbox: E2BSandbox) => {
    const { facts, startedAt, endAt, state, metadata } = sandbox;
    const { cpuCount, memoryMB, diskSizeMB } = facts;
    const { sandboxID, templateID, alias, clientID, envdVersion } = described(sandbox, false);
    return {
      ...{ sandboxID, templateID, alias, clientID, envdVersion },
      ...{ startedAt, endAt, state, metadata, cpuCount, memoryMB, diskSizeMB },
    };
  };

  app.use(
    metrics.middleware,
    cors({ origin: "*", allowHeaders: ALLOWED_HEADERS, exposeHeaders: ["X-Next-Token", "X-Total-Running"] }),
    bodyLimit({ maxSize: MOST_BODY_BYTES, onError: () => Promise.reject(new Problem(413, "Body is too large")) }),
  );

  for (const [version, path] of [["v2", "/v2/sandboxes"], ["v1", "/sandboxes"]] as const) {
    app.post(path, async (c) => {
      const { namespace } = caller(c, "create");
      const text = await c.req.text();
      const created = await sandboxes.create(
        namespace,
        parseBody(createSchema, text),
        DEFAULT_S[version],
        repeatable(c.req.header("Idempotency-Key"), text),
      );
      return c.json(described(created), 201);
    });
    app.get(path, async (c) => {
      const { namespace } = caller(c, "read");
      const query = listQuery(new URL(c.req.url).searchParams);
      const { page, hasMore, running } = await sandboxes.list(namespace, query);
      const last = page.at(-1);
      if (hasMore && last) c.header("X-Next-Token", tokenOfPage({ order: query.order, ...last }));
      if (query.states.has("running")) c.header("X-Total-Running", String(running));
      return c.json(page.map(listed));
    });
    app.post(`${path}/:id/connect`, async (c) => {
      const { namespace } = caller(c, "connect");
      const { timeout } = await body(c, connectSchema);
      if (version === "v1" && typeof timeout !== "number") {
        throw new Problem(400, "Request is not valid: timeout is missing");
      }
      const { sandbox, isResumed } = await sandboxes.connect(namespace, idOf(c), timeout ?? DEFAULT_S.v2);
      return c.json(described(sandbox), isResumed ? 201 : 200);
    });
  }

  const refuse = (method: string, path: string, what: string) =>
    app.on(method, [path, `${path}/*`], (c) => {
      caller(c, "read");
      throw new Problem(501, `${what} not supported by hookbox: docs/e2b.md lists what is`);
    });
  // Not in UNSERVED: the next route would take it.
  refuse("GET", "/sandboxes/metrics", "Metrics of several sandboxes are");

  app.get("/sandboxes/:id", async (c) => {
    const { namespace, rights } = caller(c, "read");
    const sandbox = await sandboxes.get(namespace, idOf(c));
    return c.json({
      ...listed(sandbox),
      ...described(sandbox, rights.includes("connect")),
      ...networkOf(sandbox),
      lifecycle: { onTimeout: sandbox.facts.onTimeout, autoResume: sandbox.traits.autoResume },
      pauseMode: "filesystem",
    });
  });
  app.delete("/sandboxes/:id", async (c) => {
    await sandboxes.kill(caller(c, "create").namespace, idOf(c));
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/timeout", async (c) => {
    const { namespace } = caller(c, "create");
    await sandboxes.setTimeout(namespace, idOf(c), (await body(c, timeoutSchema)).timeout);
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/refreshes", async (c) => {
    const { namespace } = caller(c, "create");
    const { duration } = await body(c, refreshSchema);
    await sandboxes.extend(namespace, idOf(c), Math.max(duration ?? LEAST_REFRESH_S, LEAST_REFRESH_S));
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/pause", async (c) => {
    const { namespace } = caller(c, "create");
    await body(c, pauseSchema);
    await sandboxes.pause(namespace, idOf(c));
    return c.body(null, 204);
  });

  app.put("/sandboxes/:id/network", async (c) => {
    const { namespace } = caller(c, "create");
    await sandboxes.setNetwork(namespace, idOf(c), await body(c, changedNetworkSchema));
    return c.body(null, 204);
  });
  app.post("/sandboxes/:id/resume", async (c) => {
    const { namespace } = caller(c, "connect");
    const { timeout, autoPause } = await body(c, resumeSchema);
    const { state, facts } = await sandboxes.get(namespace, idOf(c));
    if (state === "running") throw new Problem(409, `Sandbox "${idOf(c)}" is running`);
    if (autoPause && facts.onTimeout !== "pause") {
      throw new Problem(400, "autoPause cannot be changed: the creation of a sandbox decides");
    }
    const { sandbox } = await sandboxes.connect(namespace, idOf(c), timeout ?? DEFAULT_S.v1);
    return c.json(described(sandbox), 201);
  });
  app.get("/sandboxes/:id/metrics", async (c) => {
    const { namespace } = caller(c, "read");
    return c.json(await inside.metrics(await sandboxes.get(namespace, idOf(c))));
  });
  app.get("/sandboxes/:id/logs", async (c) => {
    const { namespace } = caller(c, "read");
    const lines = await inside.log(await sandboxes.get(namespace, idOf(c)), ...logQuery(c, "start"));
    return c.json({
      logs: lines.map(({ timestamp, text }) => ({ timestamp, line: JSON.stringify(logEntry(text)) })),
      logEntries: lines.map(({ timestamp, text }) => ({ timestamp, ...logEntry(text), fields: {} })),
    });
  });
  app.get("/v2/sandboxes/:id/logs", async (c) => {
    const { namespace } = caller(c, "read");
    const lines = await inside.log(await sandboxes.get(namespace, idOf(c)), ...logQuery(c, "cursor"));
    return c.json({ logs: lines.map(({ timestamp, text }) => ({ timestamp, ...logEntry(text), fields: {} })) });
  });

  app.get("/templates", (c) => {
    const { namespace } = caller(c, "read");
    return c.json(templates.list(namespace).map((template) => templateAnswer(namespace, template)));
  });
  app.get("/templates/aliases/:alias{.+}", (c) => {
    const { namespace } = caller(c, "read");
    const alias = c.req.param("alias");
    const template = templates.find(namespace, alias);
    if (!template) throw new Problem(404, `Template "${alias}" was not found`);
    return c.json({ templateID: template.id, public: false });
  });
  for (const each of UNSERVED) refuse(...each);

  app.notFound((c) => answer(c, new Problem(404, `There is no ${c.req.method} ${c.req.path}`)));
  app.onError((error, c) => {
    const problem = problemOf(error);
    if (!problem) log("error", "Cannot handle a request", { path: c.req.path, ...errorFields(error) });
    return answer(c, problem ?? new Problem(500, "An internal error occurred"));
  });
  return app;
}

function networkOf({ reach, traits }: E2BSandbox): { allowInternetAccess: boolean | null; network: object } {
  return {
    allowInternetAccess: reach?.length === 0 ? false : null,
    network: {
      allowPublicTraffic: traits.isPublic,
      ...reach === undefined ? {} : { allowOut: reach, denyOut: ["0.0.0.0/0"] },
    },
  };
}

/** Headers that E2B's SDKs send from browsers. */
const ALLOWED_HEADERS = [
  ...["X-API-KEY", "Authorization", "Content-Type", "Idempotency-Key", "User-Agent"],
  ...["browser", "lang", "lang_version", "package_version", "publisher", "sdk_runtime", "system"],
];

function answer(c: Context, { status, message, errorCode }: Problem): Response {
  // SDKs for Python would send a creation again, and there would be two sandboxes.
  if (c.req.method === "POST" && status >= 429) c.header("Should-Retry", "false");
  return c.json({ code: status, message, ...errorCode === undefined ? {} : { error_code: errorCode } }, status);
}

const MOST_LINES = 1000;
/** The last instant that a date can have, in milliseconds since the epoch. */
const LAST_MS = 8.64e15;

/** Reads from when (milliseconds since the epoch) and how many lines a client wants. */
function logQuery(c: Context, from: "start" | "cursor"): [since: number, limit: number] {
  const read = (name: string, otherwise: number) => {
    const number = Number(c.req.query(name) || otherwise);
    if (!Number.isInteger(number) || number < 0 || number > LAST_MS) {
      throw new Problem(400, `Parameter ${name} is not valid: a number is needed`);
    }
    return number;
  };
  return [read(from, 0), Math.min(read("limit", MOST_LINES), MOST_LINES)];
}

/** The log of a container has no levels. */
function logEntry(message: string) {
  return { level: "info", logger: "container", message };
}

/** @throws {Problem} 400 if the key is invalid */
function repeatable(key: string | undefined, body: string): { key: string; digest: string } | undefined {
  if (key === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new Problem(400, "Idempotency-Key is not valid: use 1 to 255 lower-case letters, digits and dashes");
  }
  return { key, digest: createHash("sha256").update(body).digest("hex") };
}

function templateAnswer(namespace: string, template: Template) {
  const { id, aliases, createdAt, cpuCount, memoryMB, diskSizeMB } = template;
  return {
    templateID: id,
    buildID: id,
    ...{ cpuCount, memoryMB, diskSizeMB, aliases, createdAt },
    names: aliases.map((alias) => `${namespace}/${alias}`),
    public: false,
    updatedAt: createdAt,
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount: 1,
    envdVersion: ENVD_VERSION,
    buildStatus: "ready",
  };
}
