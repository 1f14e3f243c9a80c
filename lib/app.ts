/** The HTTP face of a hook, as a Hono app: routes, limits, errors to status codes. Opens no port. @module */
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { timeout } from "hono/timeout";
import * as z from "zod";
import { type HookCalls, issuePaths } from "./hook.ts";
import { createHealthApp } from "./health.ts";
import { createLog, errorFields, type Log } from "./log.ts";
import { createHookMetrics, type HookMetrics } from "./metrics.ts";

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
  /** False while the process is stopping: `/readyz` then answers 503. */
  ready?: () => boolean;
}

/** Seconds that Metacontroller waits after a 429 for too much work, and after a refusal of the guard. */
const BUSY_RETRY_SECONDS = 1;
const REFUSAL_RETRY_SECONDS = 30;

/** What `/readyz` says when it is not. */
export const STOPPING = "stopping";

type Settings = Required<HookAppOptions>;
/** What a good request comes to: an answer to send as JSON, or the response that says why there is none. */
type Outcome = { answer: object } | { refusal: Response };

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
  const { customize } = hook;
  app.route("/", endpoint(hook.name, "sync", settings, (body) => syncAnswer(hook, body, settings)));
  if (customize) {
    app.route("/", endpoint(hook.name, "customize", settings, (body) => ({ answer: customize(body) })));
  }
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
    maxUnexplainedDeletions: 0.1,
    ready: () => true,
    ...options,
  };
}

function syncAnswer(hook: HookCalls, body: unknown, { now, log, metrics, maxUnexplainedDeletions }: Settings): Outcome {
  const outcome = hook.sync(body, now(), maxUnexplainedDeletions);
  if ("answer" in outcome) return outcome;
  const { message, children } = outcome.refusal;
  metrics.refusals.inc({ hook: hook.name });
  log("error", "Answer refused by the guard", { hook: hook.name, ...parentOf(body), refusal: message, children });
  return { refusal: retryLater(message, REFUSAL_RETRY_SECONDS) };
}

function endpoint(hook: string, name: string, settings: Settings, answer: (body: unknown) => Outcome): Hono {
  const { metrics, log } = settings;
  const app = new Hono();
  let inFlight = 0;
  app.use(`/${name}`, async (c, next) => {
    const stop = metrics.duration.startTimer({ hook, endpoint: name });
    metrics.inFlight.set({ hook }, ++inFlight);
    if (inFlight <= settings.maxConcurrency) await next();
    else c.res = retryLater("too many requests at once", BUSY_RETRY_SECONDS);
    metrics.inFlight.set({ hook }, --inFlight);
    metrics.requests.inc({ hook, endpoint: name, code: String(c.res.status) });
    stop();
  });
  // Before the body limit, which reads the whole body.
  app.use(`/${name}`, timeout(settings.maxRequestMs, () => new HTTPException(504, { message: "Request is too slow" })));
  app.use(`/${name}`, bodyLimit({ maxSize: settings.maxBodyBytes, onError: () => refuse(413, "body is too large") }));
  app.post(`/${name}`, async (c) => {
    const bytes = await c.req.arrayBuffer();
    const count = (direction: "in" | "out", size: number) =>
      metrics.bytes.inc({ hook, endpoint: name, direction }, size);
    count("in", bytes.byteLength);
    let body: unknown;
    try {
      body = parseBody(new TextDecoder().decode(bytes));
      const outcome = answer(body);
      if ("refusal" in outcome) return outcome.refusal;
      const text = new TextEncoder().encode(JSON.stringify(outcome.answer));
      count("out", text.byteLength);
      return new Response(text, { headers: { "Content-Type": "application/json" } });
    } catch (error) {
      log("error", "Request failed", { hook, endpoint: name, ...parentOf(body), ...causeOf(error) });
      return errorAnswer(error);
    }
  });
  app.all(`/${name}`, () => refuse(405, "use POST"));
  app.onError((error) => {
    const status = error instanceof HTTPException ? error.status : 500;
    log("error", "Request failed", { hook, endpoint: name, ...errorFields(error) });
    return refuse(status, error instanceof HTTPException ? error.message : "Cannot read the request");
  });
  return app;
}

/** Text that is no JSON. The parser's own message quotes the body, so it stays here. */
class BodyError extends Error {
  override name = "BodyError";
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BodyError("Cannot parse the body: it is no JSON");
  }
}

/** A bad request needs no stack: it is the caller's. */
function causeOf(error: unknown): Record<string, unknown> {
  if (error instanceof BodyError) return { error: error.message };
  return error instanceof z.ZodError ? { issues: issuePaths(error) } : errorFields(error);
}

function errorAnswer(error: unknown): Response {
  if (error instanceof BodyError) return refuse(400, error.message);
  if (error instanceof z.ZodError) {
    return Response.json({ error: "Cannot read the request", issues: issuePaths(error) }, { status: 400 });
  }
  return refuse(500, `Cannot answer: ${error instanceof Error ? error.name : "unknown error"}, see the hook's log`);
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

function retryLater(error: string, seconds: number): Response {
  return Response.json({ error }, { status: 429, headers: { "Retry-After": String(seconds) } });
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
