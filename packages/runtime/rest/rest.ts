/**
 * The Hono app of port 8080: the published file and health protocol, and hookbox's own endpoints.
 *
 * Published (Agent Sandbox runtime reference, section 9.2): `GET`, `HEAD`, `PUT`, `DELETE /v1/files/{path}`,
 * `GET /v1/health`, `GET /v1/metadata`. Slashes in `{path}` may be percent-encoded. Errors are `{code, message}`.
 *
 * hookbox's own (`files.ts`, `bind.ts`):
 *
 * | request | response |
 * |---|---|
 * | `GET /v1/files/{folder}?links=true` | lists symlinks as symlinks, with `target`, including those that lead out |
 * | `GET /v1/files/{folder}?below=true` | for a list of several levels: a file system of the kernel is empty |
 * | `GET /v1/stat/{path}` | one entry and its `path`; symlinks are not followed; `target` if it is inside the root |
 * | `PUT /v1/folders/{path}?mode=0755` | 201 if it is new, 200 if it existed; creates missing parents |
 * | `POST /v1/rename {from, to, replace?}` | 204; 409 `CONFLICT` if something exists at `to` and `replace` is not true |
 * | `GET /v1/archive/{path}?gzip=true` | a tar of a folder or file, streamed |
 * | `PUT /v1/archive/{path}?gzip=true` | unpacks the body there: `{files, directories, links, bytes}` |
 * | `GET /v1/watch/{path}?recursive=true` | events as JSON lines, or as `text/event-stream` if that is accepted |
 * | `GET /v1/disk` | `{total_bytes, used_bytes, available_bytes, total_files, free_files}` |
 * | `GET /v1/activity` | see `ActivityAnswer`; requires no token, and does not count as activity |
 * | `POST /v1/bind {env, files, start}` | late binding: `{digest, env, files}`, only names; `PATCH` adds, `GET` returns the same, `DELETE` revokes |
 *
 * In addition, `POST /{service}/{method}`: the services of port 9090 by Connect and gRPC-web over HTTP/1.1.
 *
 * Statuses in addition to the published ones: 206 and 416 (ranges), 304 (`If-None-Match`), 401 (a token is mounted, and
 * the request has another one or none), 405, 413 (too large, or the disk is full), 503 (stopping).
 *
 * @module
 */
import { Hono } from "hono";
import { USER_HEADER } from "../../api/router/protocol.ts";
import type { Log } from "../../process/log.ts";
import { addBindEndpoints, type LateBinding } from "../bind.ts";
import type { Root } from "../confine.ts";
import { answerError, refuse } from "../http/answers.ts";
import { createGuard } from "../http/guard.ts";
import { type HTTPEnv, rawPath } from "../http/httppath.ts";
import type { Metrics } from "../processes/metrics.ts";
import type { TokenCheck } from "../token.ts";
import { createUserGate } from "../users/userruntime.ts";
import type { Users } from "../users/users.ts";
import { addFileEndpoints, addFolderEndpoints } from "./files.ts";

/** What the app serves and uses. */
export interface RestOptions {
  root: Root;
  binding: LateBinding;
  /** Variables for `GET /v1/metadata`. */
  metadata: { prefix: string; env: Record<string, string | undefined> };
  /** Largest file or tar, in bytes. */
  maxUpload: number;
  token: TokenCheck;
  /** Other names of this machine; see packages/process/hosts.ts. */
  allowedHosts: readonly string[];
  /** Which requests require the token: all except health and activity, or only late binding. */
  tokenScope: "all" | "bind";
  users: Users;
  /** Returns the response of `GET /v1/activity`. */
  activity(): Promise<ActivityAnswer>;
  /** Called for each request except health and activity. */
  touch(): void;
  /** Handles Connect and gRPC-web requests; undefined if the path belongs to no service. */
  web(request: Request): Promise<Response> | undefined;
  /** Aborts when the runtime begins to stop. */
  stop: AbortSignal;
  log: Log;
}

/** What is the same for all users. `/v1/bind` has its own rule. */
const OWN = new Set(["/v1/health", "/v1/activity", "/v1/metadata", "/v1/bind"]);

/** Creates the app of port 8080. */
export function createRest(options: RestOptions): Hono<HTTPEnv> {
  const app = new Hono<HTTPEnv>({ getPath: rawPath });
  const { stop, tokenScope, token, log } = options;
  const startedAt = performance.now();
  app.use(createGuard({
    open: (path) => path === "/v1/health" || path === "/v1/activity",
    stopping: () => stop.aborted,
    token: tokenScope === "all" ? token : undefined,
    allowedHosts: options.allowedHosts,
    touch: options.touch,
    refuse,
  }));
  app.use("/v1/*", createUserGate(options.users, (path) => OWN.has(path), "rest"));
  app.get("/v1/health", (c) => {
    const uptime_seconds = Math.floor((performance.now() - startedAt) / 1000);
    if (!stop.aborted) return c.json({ status: "ok", uptime_seconds });
    const why = { code: "UNAVAILABLE", message: "The runtime is stopping" };
    return c.json({ status: "stopping", uptime_seconds, ...why }, 503);
  });
  app.get("/v1/activity", async (c) => c.json(await options.activity()));
  app.get("/v1/metadata", (c) => {
    const user = c.req.header(USER_HEADER);
    return c.json({ env: filterMetadata(options.metadata) }, 200, user === undefined ? {} : { [USER_HEADER]: user });
  });
  addFileEndpoints(app, options);
  addFolderEndpoints(app, options);
  addBindEndpoints(app, options);
  app.all(
    "/v1/:endpoint{(files|health|activity|metadata|stat|folders|rename|archive|watch|disk|bind)}/*",
    () => wrongMethod(),
  );
  app.post("/:service/:method", async (c, next) => await options.web(c.req.raw) ?? await next());
  app.notFound((c) => refuse("NOT_FOUND", `Cannot find ${c.req.method} ${c.req.path}: no such endpoint`));
  app.onError((error, c) => answerError(error, c, log));
  return app;
}

function wrongMethod(): Response {
  return refuse("UNIMPLEMENTED", "Cannot do that: the endpoint does not take this method");
}

/** Counts of current activity. */
export interface ActivityAnswer {
  /** Running commands, including detached ones, and contexts in which code is running. */
  running: number;
  terminals: number;
  /** Number of callers that read output. */
  streams: number;
  /** CPU time of the whole sandbox since it started. */
  cpuSeconds: number;
  /** Number of processes that run or wait for a CPU. */
  runnable: number;
  /** Processes that commands and code have left behind, and that still run. */
  jobs: number;
  /** Bytes that the sandbox has sent and received since it started; absent if they are not known. */
  networkBytes?: number;
  /** Seconds since the last request, command or terminal; 0 while any of them is active. */
  idleSeconds: number;
}

/** Converts the metrics to the response. */
export function activityOf({ sandbox, activity }: ReturnType<Metrics["read"]>, now: Date): ActivityAnswer {
  const { runningCommands, runningTerminals: terminals, attachedStreams: streams, busyContexts } = activity;
  const running = runningCommands + busyContexts;
  const idle = Math.max(0, now.getTime() - activity.lastActiveAt.getTime()) / 1000;
  const isBusy = running + terminals + streams > 0;
  const { cpuSeconds, runnableCount: runnable } = sandbox;
  const { jobs: { length: jobs }, networkBytes } = activity;
  const network = networkBytes === undefined ? {} : { networkBytes };
  return { running, terminals, streams, jobs, cpuSeconds, runnable, ...network, idleSeconds: isBusy ? 0 : idle };
}

/** Adds the activity in the runtimes of other users. The rest of `own` is about the whole sandbox. */
export function sumOfActivity(own: ActivityAnswer, others: ActivityAnswer[]): ActivityAnswer {
  return others.reduce((sum, { running, terminals, streams, jobs, idleSeconds }) => ({
    ...sum,
    running: sum.running + running,
    terminals: sum.terminals + terminals,
    streams: sum.streams + streams,
    jobs: sum.jobs + jobs,
    idleSeconds: Math.min(sum.idleSeconds, idleSeconds),
  }), own);
}

/** Source: Agent Sandbox runtime reference, section 9.2. */
const SECRET_WORDS = /TOKEN|SECRET|PASSWORD|PASSWD|CRED|KEY|AUTH|BEARER|PRIVATE|CERT/i;

/** Returns the variables with the prefix, except those whose names suggest a secret. */
export function filterMetadata(
  { prefix, env }: { prefix: string; env: Record<string, string | undefined> },
): Record<string, string> {
  const shown = Object.entries(env).filter(([name]) => name.startsWith(prefix) && !SECRET_WORDS.test(name));
  return Object.fromEntries(shown.map(([name, value]): [string, string] => [name, value ?? ""]).sort());
}
