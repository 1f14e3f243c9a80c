/** The HTTP face of a hook, as a Hono app: routes, limits, errors to status codes. Opens no port. @module */
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { timeout } from "hono/timeout";
import type { Exchange } from "./exchange.ts";
import { MAX_UNEXPLAINED_DELETIONS } from "./guard.ts";
import type { HookCalls, SentRequest } from "./hook.ts";
import { createHealthApp } from "./health.ts";
import { createLog, errorFields, type Log } from "./log.ts";
import { createHookMetrics, type HookMetrics } from "./metrics.ts";
import { createPace, type Spacing } from "./pace.ts";
import { type Body, type Endpoint, readBody, replyOf } from "./reply.ts";

/** Limits and outlets of a hook app; every field has a default. */
export interface HookAppOptions {
  /** The clock. @default {() => new Date()} */
  now?: () => Date;
  log?: Log;
  metrics?: HookMetrics;
  /** Largest request body, in bytes. @default {67108864} */
  maxBodyBytes?: number;
  /** Longest time for one request, in milliseconds. @default {8000} (Metacontroller gives up after 10 s) */
  maxRequestMs?: number;
  /** Requests answered at once; more get a 429. @default {256} */
  maxConcurrency?: number;
  /** Share of the observed children (0 to 1) that an answer may delete without naming a reason. @default {0.1} */
  maxUnexplainedDeletions?: number;
  /** Is given each request that the hook was asked, with its answer; must return at once and never throw. @default {() => {}} */
  record?: (exchange: Exchange) => void;
  /** False while the process is stopping: `/readyz` then answers 503. */
  ready?: () => boolean;
}

/** Seconds that Metacontroller waits after a 429 for too much work, and after a refusal of the guard. */
const BUSY_RETRY_SECONDS = 1;
const REFUSAL_RETRY_SECONDS = 30;

/** Answers that are held back at once: each occupies a worker of Metacontroller, which has five unless it is told otherwise. */
const MOST_HELD = 3;

/** What `/readyz` says when it is not. */
export const STOPPING = "stopping";

type Settings = Required<HookAppOptions>;

/**
 * Makes the app of one hook: `POST /sync`, `POST /customize` (where the hook has one), `GET /healthz`, `/readyz`,
 * `/metrics`.
 *
 * | status | when |
 * |---|---|
 * | 200 | the answer, checked |
 * | 400 | the body is no request: `{error, issues}` names paths, never values |
 * | 413, 504 | body too large, request too slow |
 * | 429 + Retry-After | too many at once, or the guard refused the answer |
 * | 500 | the hook threw, or its answer breaks the protocol: `{error}` names the class only, the log has the rest |
 */
export function createHookApp(hook: HookCalls, options: HookAppOptions = {}): Hono {
  const settings = withDefaults(options);
  const app = createHealthApp(settings.ready, settings.metrics, STOPPING);
  app.route("/", endpoint(hook, "sync", settings));
  if (hook.customize) app.route("/", endpoint(hook, "customize", settings));
  return app;
}

function withDefaults(options: HookAppOptions): Settings {
  return {
    now: () => new Date(),
    log: createLog(),
    metrics: createHookMetrics(),
    maxBodyBytes: 64 * 1024 * 1024,
    maxRequestMs: 8000,
    maxConcurrency: 256,
    maxUnexplainedDeletions: MAX_UNEXPLAINED_DELETIONS,
    record: () => {},
    ready: () => true,
    ...options,
  };
}

function endpoint(hook: HookCalls, name: Endpoint, settings: Settings): Hono {
  const { metrics, log } = settings;
  const labels = { hook: hook.name, endpoint: name };
  const app = new Hono();
  let inFlight = 0;
  app.use(`/${name}`, async (c, next) => {
    const stop = metrics.duration.startTimer(labels);
    metrics.inFlight.set({ hook: hook.name }, ++inFlight);
    if (inFlight <= settings.maxConcurrency) await next();
    else c.res = Response.json({ error: "too many requests at once" }, retryAfter(BUSY_RETRY_SECONDS));
    metrics.inFlight.set({ hook: hook.name }, --inFlight);
    metrics.requests.inc({ ...labels, code: String(c.res.status) });
    stop();
  });
  // Before the body limit, which reads the whole body.
  app.use(`/${name}`, timeout(settings.maxRequestMs, () => new HTTPException(504, { message: "Request is too slow" })));
  const limited = bodyLimit({ maxSize: settings.maxBodyBytes, onError: () => refuse(413, "body is too large") });
  app.use(`/${name}`, (c, next) => isWithin(c.req.raw.headers, settings.maxBodyBytes) ? next() : limited(c, next));
  const spacing = name === "sync" ? hook.spacing : undefined;
  const pace = createPace({ mostHeld: MOST_HELD });
  app.post(`/${name}`, async (c) => {
    const bytes = new Uint8Array(await c.req.arrayBuffer());
    const body = readBody(new TextDecoder().decode(bytes));
    const distance = spacing && spacingOf(spacing, body.request);
    if (distance) await pace.wait(distance);
    return answer(hook, name, bytes, body, settings);
  });
  app.all(`/${name}`, () => refuse(405, "use POST"));
  app.onError((error) => {
    const status = error instanceof HTTPException ? error.status : 500;
    log("error", "Request failed", { ...labels, ...errorFields(error) });
    return refuse(status, error instanceof HTTPException ? error.message : "Cannot read the request");
  });
  return app;
}

/** What is wrong with a request is said when it is read. */
function spacingOf(spacing: NonNullable<HookCalls["spacing"]>, request: unknown): Spacing | undefined {
  try {
    return spacing(request as SentRequest);
  } catch {
    return undefined;
  }
}

/** Tells whether a body says that it is small enough: it need not be read as a stream, which would cost more than the hook does. */
function isWithin(headers: Headers, maxBytes: number): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= maxBytes && !headers.has("transfer-encoding");
}

/** Waits for nothing from the clock's look to the record, so that a recording has the order in which the hook was asked. */
function answer(hook: HookCalls, name: Endpoint, bytes: Uint8Array, read: Body, settings: Settings): Response {
  const { metrics, log } = settings;
  const labels = { hook: hook.name, endpoint: name };
  const at = settings.now();
  const { status, text, request, refusal, cause } = replyOf(hook, name, read, at, settings.maxUnexplainedDeletions);
  const body = new TextEncoder().encode(text);
  metrics.bytes.inc({ ...labels, direction: "in" }, bytes.byteLength);
  if (status === 200) metrics.bytes.inc({ ...labels, direction: "out" }, body.byteLength);
  if (cause) log("error", "Request failed", { ...labels, ...parentOf(request), ...cause });
  if (refusal) {
    const { message, children } = refusal;
    metrics.refusals.inc({ hook: hook.name });
    log("error", "Answer refused by the guard", { hook: hook.name, ...parentOf(request), refusal: message, children });
  }
  if (request !== undefined) settings.record({ at, ...labels, status, request: bytes, answer: body });
  const headers = { "Content-Type": "application/json" };
  return new Response(body, status === 429 ? retryAfter(REFUSAL_RETRY_SECONDS, headers) : { status, headers });
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

function retryAfter(seconds: number, headers: Record<string, string> = {}) {
  return { status: 429, headers: { ...headers, "Retry-After": String(seconds) } };
}

/** Names the parent of a request for the log; nothing where the body is not that far in shape. */
function parentOf(body: unknown): Record<string, unknown> {
  const parent = asRecord(asRecord(body)["parent"] ?? asRecord(body)["object"]);
  const { namespace, name, uid, generation } = asRecord(parent["metadata"]) as Record<string, unknown>;
  return { namespace, name, uid, generation };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}
