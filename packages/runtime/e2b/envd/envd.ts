/**
 * The Hono app of port 49983: E2B's protocol, so that E2B's published clients reach the same commands, files and users as
 * the runtime's own protocols.
 *
 * | request | response |
 * |---|---|
 * | `POST /process.Process/{method}`, `/filesystem.Filesystem/{method}` | Connect, JSON or binary |
 * | `GET`, `POST /files` | downloads and uploads |
 * | `GET /health` | 204 |
 * | `GET /envs`, `GET /metrics` | the bound variables; usage of CPU, memory and disk |
 *
 * Errors are `{code, message}`, with the HTTP status as code. `POST /init` does not exist: the variables come by
 * `/v1/bind`, and the token by `--token-file`.
 *
 * @module
 */
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { totalmem } from "node:os";
import { Filesystem } from "../../../runtime-api/gen/e2b/filesystem_pb.ts";
import { Process } from "../../../runtime-api/gen/e2b/process_pb.ts";
import { codeOf } from "../../confine.ts";
import { readDisk } from "../../files/manage.ts";
import { type Refused, refusedFor } from "../../files/refused.ts";
import { logFault, statusOf } from "../../http/answers.ts";
import { type AppOptions, createGuard } from "../../http/guard.ts";
import { type HTTPEnv, rawPath } from "../../http/httppath.ts";
import type { BoundVariables } from "../../processes/command.ts";
import type { Metrics } from "../../processes/metrics.ts";
import type { Processes } from "../../processes/processes.ts";
import { createWebHandler } from "../../rpc/routes.ts";
import { forward } from "../../users/userruntime.ts";
import { addFiles } from "./files.ts";
import { createFilesystem } from "./filesystem.ts";
import { createProcess } from "./process.ts";
import { createE2BProcesses } from "./running.ts";
import { createWatches } from "./watch.ts";
import { checkCaller, checkUser, forE2BUsers, type Route } from "./users.ts";

/** What the app serves and uses. */
export interface EnvdOptions extends AppOptions {
  processes: Processes;
  metrics: Metrics;
  /** The bound variables. */
  env: BoundVariables;
  /** Largest file of an upload, in bytes. */
  maxUpload: number;
}

/** Largest request message, in bytes. Clients split longer input. */
const READ_MAX_BYTES = 16 << 20;
const HEALTH = "/health";

/** Creates the app. */
export function createEnvd(options: EnvdOptions): Hono<HTTPEnv> {
  const { root, users, stop, log } = options;
  // A client whose base URL ends in a slash sends two of them.
  const app = new Hono<HTTPEnv>({ getPath: (...request) => rawPath(...request).replace(/\/{2,}/g, "/") });
  app.options("*", cors({ origin: "*", allowMethods: ["GET", "POST"], maxAge: 7200 }));
  app.use(async (c, next) => stop.aborted ? gone(c) : await next());
  app.use(createGuard({
    open: (path) => path === HEALTH,
    stopping: () => false,
    token: options.token,
    credentials,
    allowedHosts: options.allowedHosts,
    touch: options.touch,
    refuse: (code, message, headers) => refuse(statusOf({ code } as Refused), message, headers),
  }));
  app.use(allowPages);
  app.get(HEALTH, (c) => c.body(null, 204));
  app.use("/files", async (c, next) => {
    const name = c.req.query("username");
    checkUser(users, name);
    const other = await users.runtimeOf(name);
    return other ? await forward(c, other, "envd") : await next();
  });
  addFiles(app, options);
  app.get("/envs", async (c) => c.json(await options.env()));
  app.get("/metrics", async (c) => c.json(await metricsOf(options)));
  const call = createWebHandler(routesOf(options), { grpcWeb: false, acceptCompression: [] });
  app.post("/:service/:method", async (c, next) => await call(c.req.raw, c.req.path) ?? await next());
  app.notFound((c) => refuse(404, `there is no ${c.req.method} ${c.req.path}`));
  app.onError((error, c) => {
    // Only E2B has a status of its own for it.
    if (["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "")) return refuse(507, "not enough disk space available");
    const refused = refusedFor(error, c.req.query("path") ?? c.req.path);
    if (refused) return refuse(statusOf(refused), refused.message);
    logFault(error, c, log);
    return refuse(500, "internal error, see the runtime's log");
  });
  return app;

  function routesOf({ processes }: EnvdOptions) {
    const filesystem = { ...createFilesystem({ root }), ...createWatches({ root, stop }) };
    const shared = {
      readMaxBytes: READ_MAX_BYTES,
      requestGate: ({ requestHeader }: HandlerContext) => Promise.resolve(checkCaller(users, requestHeader)),
    };
    const known = createE2BProcesses();
    const process = createProcess({ root, processes, known });
    return (router: ConnectRouter) => {
      router.service(Process, forE2BUsers(Process, process, users, ROUTES), shared);
      router.service(Filesystem, forE2BUsers(Filesystem, filesystem, users, ROUTES), shared);
    };
  }
}

/** Calls that name a process or watcher, and no user. */
const ROUTES: Record<string, Route> = {
  list: "all",
  ...{ connect: "id", update: "id", sendInput: "id", sendSignal: "id", closeStdin: "id" },
  ...{ getWatcherEvents: "id", removeWatcher: "id" },
};

/** `Authorization` may name a user, so the token has a header of its own, as in E2B. */
function credentials(c: Context): string | undefined {
  const token = c.req.header("X-Access-Token");
  return token === undefined ? c.req.header("Authorization") : `Bearer ${token}`;
}

function refuse(code: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ code, message }, { status: code, headers });
}

/** Answers as E2B's proxy does for a sandbox that has been killed. Its clients read this status and sentence. */
function gone(c: Context): Response {
  const sandboxId = c.req.header("E2b-Sandbox-Id") ?? "";
  return Response.json({ sandboxId, message: "The sandbox was not found", code: 502 }, {
    status: 502,
    headers: { Connection: "close" },
  });
}

/** Lets pages of all sites read the answers. A request of a page without a right comes no further than the guard. */
const allowPages: MiddlewareHandler = async (c, next) => {
  await next();
  if (c.req.header("Origin") === undefined) return;
  c.res.headers.set("Access-Control-Allow-Origin", "*");
  c.res.headers.set("Access-Control-Expose-Headers", "*");
};

async function metricsOf({ metrics, root }: EnvdOptions) {
  const { sandbox, activity } = metrics.read();
  const disk = await readDisk(root);
  const cpus = sandbox.cpuLimit;
  return {
    ts: Math.floor(Date.now() / 1000),
    cpu_count: Math.max(1, Math.round(cpus)),
    cpu_used_pct: Math.round(10_000 * activity.cpuUsage / cpus) / 100,
    mem_total: sandbox.memoryLimitBytes ?? totalmem(),
    mem_used: sandbox.memoryBytes,
    disk_total: disk.total_bytes,
    disk_used: disk.used_bytes,
  };
}
