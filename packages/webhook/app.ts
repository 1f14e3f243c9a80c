/** Serves a hook over HTTP, as a Hono app: routes, limits, and the mapping of errors to status codes. @module */
import type { Tracer } from "@opentelemetry/api";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import type { Exchange } from "./exchange.ts";
import type { HookCalls, SentRequest } from "./hook.ts";
import { isObject } from "../api/objects/json.ts";
import type { TraceContext } from "../api/tracecontext.ts";
import { systemClock } from "../process/clock.ts";
import { createHealthApp, exemplarOf } from "../process/observability.ts";
import { createIntake } from "./intake.ts";
import { createLog, errorFields, type Log } from "../process/log.ts";
import { type LossBudget, UNLIMITED } from "../process/deletionbudget.ts";
import { childKey, SYNC_TIMEOUT_MS } from "./metacontroller.ts";
import { createHookMetrics, type HookMetrics, recordAnswer, sentParent, traceOfRequest } from "./telemetry.ts";
import { createThrottle } from "./throttle.ts";
import { type Body, type Endpoint, readBody, replyOf } from "./reply.ts";

/** Limits and dependencies of a hook app; every field has a default. */
export interface HookAppOptions {
  /** The clock. @default () => new Date() */
  now?: () => Date;
  log?: Log;
  metrics?: HookMetrics;
  /** Largest request body, in bytes. @default 37748736 */
  maxBodyBytes?: number;
  /** Largest weight of one request body: the bytes of memory that it may use, see `weigh`. @default 109051904 */
  maxBodyWeight?: number;
  /**
   * Largest weight of all request bodies in memory at the same time. Bodies for which there is no room get a 429.
   * @default 167772160
   */
  maxHeldWeight?: number;
  /** Longest time until the last byte of a request, in milliseconds. @default {LATEST_MS} */
  maxBodyMs?: number;
  /** Whether the app serves its metrics. @default true */
  servesMetrics?: boolean;
  /** Limits the losses over time; one budget for all hooks of a process. @default no limit */
  budget?: LossBudget;
  /** Receives each request that reached the hook, with its answer; must return at once and never throw. @default {() => {}} */
  record?: (exchange: Exchange) => void;
  /** Records answers as spans. @default undefined: none */
  tracer?: Tracer | undefined;
  /** False while the process is stopping: `/readyz` then answers 503. */
  ready?: () => boolean;
}

/** Seconds after which Metacontroller retries a 429: if there is no room for the body, and if the guard refuses the answer. */
const BUSY_RETRY_SECONDS = 1;
const REFUSAL_RETRY_SECONDS = 30;

/** Longest wait for a body, and longest delay of an answer, in milliseconds. Both are shorter than Metacontroller's timeout. */
const LATEST_MS = SYNC_TIMEOUT_MS - 2000;

/** Answers that are delayed at the same time. Each occupies a worker of Metacontroller, which has five by default. */
const MOST_HELD = 3;

/** Body of `/readyz` while the process is stopping. */
export const STOPPING = "stopping";

type Settings = Required<Omit<HookAppOptions, "tracer">> & Pick<HookAppOptions, "tracer">;

/**
 * Creates the app of one hook: `POST /sync`, `POST /customize` (if the hook has one), `GET /healthz`, `/readyz`,
 * `/metrics`.
 *
 * Status codes are those of {@link replyOf}, and for bodies that are not accepted:
 *
 * | status | when |
 * |---|---|
 * | 413, 504 | the body is too large or has too many items, is too slow |
 * | 429 + Retry-After | there is no room for the body |
 */
export function createHookApp(hook: HookCalls, options: HookAppOptions = {}): Hono {
  const settings = withDefaults(options);
  const app = createHealthApp(settings.ready, settings.servesMetrics ? settings.metrics : undefined, STOPPING);
  app.route("/", endpoint(hook, "sync", settings));
  if (hook.customize) app.route("/", endpoint(hook, "customize", settings));
  return app;
}

function withDefaults(options: HookAppOptions): Settings {
  return {
    now: () => new Date(),
    log: createLog(),
    metrics: createHookMetrics(),
    maxBodyBytes: 36 * 1024 * 1024,
    maxBodyWeight: 104 * 1024 * 1024,
    maxHeldWeight: 160 * 1024 * 1024,
    maxBodyMs: LATEST_MS,
    servesMetrics: true,
    budget: UNLIMITED,
    record: () => {},
    ready: () => true,
    tracer: undefined,
    ...options,
  };
}

/** Values that are known once a call is read. */
type CallEnv = { Variables: { trace: TraceContext | undefined } };

function endpoint(hook: HookCalls, name: Endpoint, settings: Settings): Hono<CallEnv> {
  const { metrics, log, tracer } = settings;
  const labels = { hook: hook.name, endpoint: name };
  const app = new Hono<CallEnv>();
  let inFlight = 0;
  app.use(`/${name}`, async (c, next) => {
    const end = metrics.duration.startTimer(labels, {});
    metrics.inFlight.set({ hook: hook.name }, ++inFlight);
    await next();
    metrics.inFlight.set({ hook: hook.name }, --inFlight);
    metrics.requests.inc({ ...labels, code: String(c.res.status) });
    end({}, exemplarOf(c.get("trace")));
  });
  const intake = createIntake(settings);
  const { spacing, delayMs } = name === "sync" ? hook : {};
  const throttle = createThrottle({ mostHeld: MOST_HELD, longestMs: LATEST_MS });
  app.post(`/${name}`, (c) => {
    const startTime = Date.now();
    return intake(c.req.raw, async (bytes) => {
      const body = readBody(new TextDecoder().decode(bytes));
      const distance = spacing && askHook(spacing, body.request);
      if (distance) await throttle.wait(distance);
      const delay = delayMs && askHook(delayMs, body.request);
      if (delay) await new Promise<void>((fulfil) => systemClock.setTimeout(fulfil, delay));
      const trace = tracer && name === "sync" ? traceOfRequest(body.request) : undefined;
      c.set("trace", trace);
      return answer(hook, name, { bytes, body, startTime, trace }, settings);
    });
  });
  app.all(`/${name}`, () => refuse(405, "use POST"));
  app.onError((error) => {
    if (error instanceof HTTPException) return refuseUnread(error);
    log("error", "Request failed", { ...labels, ...errorFields(error) });
    return refuse(500, "Cannot read the request");
  });
  return app;
}

/**
 * Calls a function of the hook that decides how long to delay a request. Errors are ignored here: they are reported
 * when the request is parsed.
 */
function askHook<T>(ask: (request: SentRequest) => T, request: unknown): T | undefined {
  try {
    const { parent, object, children, attachments } = request as Record<string, unknown>;
    // The request of a DecoratorController has other names for these fields.
    return ask({ parent: parent ?? object, children: children ?? attachments } as SentRequest);
  } catch {
    return undefined;
  }
}

/** One call as received. */
interface Call {
  bytes: Uint8Array;
  body: Body;
  /** In milliseconds since the epoch. */
  startTime: number;
  /** The trace to which the answer's span belongs; undefined: none. */
  trace: TraceContext | undefined;
}

/**
 * Answers a call. There is no await between reading the clock and recording, so that a recording has the same order as
 * the hook's calls.
 */
function answer(hook: HookCalls, name: Endpoint, { bytes, trace, ...call }: Call, settings: Settings): Response {
  const { metrics, log, tracer } = settings;
  const labels = { hook: hook.name, endpoint: name };
  const at = settings.now();
  const reply = replyOf(hook, name, call.body, at, settings.budget);
  const { status, text, request, refusal, cause, losses = [], held = [] } = reply;
  const body = new TextEncoder().encode(text);
  metrics.bytes.inc({ ...labels, direction: "in" }, bytes.byteLength);
  if (status === 200) metrics.bytes.inc({ ...labels, direction: "out" }, body.byteLength);
  const about = () => ({ ...parentOf(request), ...(trace && { trace_id: trace.traceId }) });
  if (tracer && trace) {
    recordAnswer(tracer, trace, { hook: hook.name, request, status, text, startTime: call.startTime });
  }
  if (cause) log("error", "Request failed", { ...labels, ...about(), ...cause });
  if (refusal) {
    const { message, children } = refusal;
    metrics.refusals.inc({ hook: hook.name });
    log("error", "Answer refused by the guard", { hook: hook.name, ...about(), refusal: message, children });
  }
  if (losses.length > held.length) metrics.losses.inc({ hook: hook.name }, losses.length - held.length);
  if (held.length > 0) {
    metrics.held.inc({ hook: hook.name }, held.length);
    const children = held.map(({ child, what }) => `${childKey(child)} ${what}`);
    log("warn", "Deletions delayed by --max-losses-per-minute", {
      hook: hook.name,
      ...about(),
      children,
    });
  }
  if (request !== undefined) settings.record({ at, ...labels, status, request: bytes, answer: body });
  const headers = { "Content-Type": "application/json" };
  return new Response(body, { status, headers: { ...headers, ...retryAfter(status, REFUSAL_RETRY_SECONDS) } });
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

/** Refuses a body without waiting for the rest of it. */
function refuseUnread({ status, message }: HTTPException): Response {
  const headers = { Connection: "close", ...retryAfter(status, BUSY_RETRY_SECONDS) };
  return Response.json({ error: message }, { status, headers });
}

function retryAfter(status: number, seconds: number): Record<string, string> {
  return status === 429 ? { "Retry-After": String(seconds) } : {};
}

/** Returns the log fields that identify the parent of a request. The body may be invalid, so only plain values are used. */
function parentOf(body: unknown): Record<string, unknown> {
  const { metadata } = sentParent(body);
  const { namespace, name, uid, generation } = isObject(metadata) ? metadata : {};
  const plain = Object.entries({ namespace, name, uid, generation }).filter(([, value]) => typeof value !== "object");
  return Object.fromEntries(plain);
}
