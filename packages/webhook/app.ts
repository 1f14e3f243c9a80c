/** The HTTP face of a hook, as a Hono app: routes, limits, errors to status codes. Opens no port. @module */
import type { Tracer } from "@opentelemetry/api";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import type { Exchange } from "./exchange.ts";
import type { HookCalls, SentRequest } from "./hook.ts";
import { isObject } from "../api/objects/json.ts";
import type { TraceContext } from "../api/tracecontext.ts";
import { systemClock } from "../process/clock.ts";
import { createHealthApp } from "../process/health.ts";
import { createIntake } from "./intake.ts";
import { createLog, errorFields, type Log } from "../process/log.ts";
import { type LossBudget, UNLIMITED } from "./lossbudget.ts";
import { childKey, SYNC_TIMEOUT_MS } from "./metacontroller.ts";
import { exemplarOf } from "../process/exemplars.ts";
import { createHookMetrics, type HookMetrics } from "../process/metrics.ts";
import { createThrottle } from "./throttle.ts";
import { type Body, type Endpoint, readBody, replyOf } from "./reply.ts";
import { recordAnswer, sentParent, traceOfRequest } from "./spans.ts";

/** Limits and outlets of a hook app; every field has a default. */
export interface HookAppOptions {
  /** The clock. @default () => new Date() */
  now?: () => Date;
  log?: Log;
  metrics?: HookMetrics;
  /** Largest request body, in bytes. @default 37748736 */
  maxBodyBytes?: number;
  /** What one request body may weigh, in bytes that it may take as a value. @default 109051904 */
  maxBodyWeight?: number;
  /** What request bodies may weigh that are held at a time; those for which there is no room get a 429. @default 167772160 */
  maxHeldWeight?: number;
  /** Longest time until the last byte of a request, in milliseconds. @default {LATEST_MS} */
  maxBodyMs?: number;
  /** Whether the app serves its metrics. @default true */
  servesMetrics?: boolean;
  /** What answers may take away over time; one for all hooks of a process. @default no limit */
  budget?: LossBudget;
  /** Is given each request that the hook was asked, with its answer; must return at once and never throw. @default {() => {}} */
  record?: (exchange: Exchange) => void;
  /** Records answers as spans. @default undefined: none */
  tracer?: Tracer | undefined;
  /** False while the process is stopping: `/readyz` then answers 503. */
  ready?: () => boolean;
}

/** Seconds that Metacontroller waits after a 429 for want of room, and after a refusal of the guard. */
const BUSY_RETRY_SECONDS = 1;
const REFUSAL_RETRY_SECONDS = 30;

/** Longest wait for a body, and longest wait of one that is held back, in milliseconds: the answer still comes in time. */
const LATEST_MS = SYNC_TIMEOUT_MS - 2000;

/** Answers that are held back at once: each occupies a worker of Metacontroller, which has five unless it is told otherwise. */
const MOST_HELD = 3;

/** What `/readyz` says when it is not. */
export const STOPPING = "stopping";

type Settings = Required<Omit<HookAppOptions, "tracer">> & Pick<HookAppOptions, "tracer">;

/**
 * Makes the app of one hook: `POST /sync`, `POST /customize` (where the hook has one), `GET /healthz`, `/readyz`,
 * `/metrics`.
 *
 * Statuses are those of {@link replyOf}, and of bodies that do not come in:
 *
 * | status | when |
 * |---|---|
 * | 413, 504 | body too large or too much in it, too slow |
 * | 429 + Retry-After | no room for the body |
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

/** What is known of a call once it is read. */
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
      const distance = spacing && told(spacing, body.request);
      if (distance) await throttle.wait(distance);
      const delay = delayMs && told(delayMs, body.request);
      if (delay) await new Promise<void>((fulfil) => systemClock.setTimeout(fulfil, delay));
      const trace = tracer && name === "sync" ? traceOfRequest(body.request) : undefined;
      c.set("trace", trace);
      return answer(hook, name, { bytes, body, startTime, trace }, settings);
    });
  });
  app.all(`/${name}`, () => refuse(405, "use POST"));
  app.onError((error) => {
    if (error instanceof HTTPException) return declined(error);
    log("error", "Request failed", { ...labels, ...errorFields(error) });
    return refuse(500, "Cannot read the request");
  });
  return app;
}

/** Asks what a request tells of its pace. What is wrong with it is said when it is read. */
function told<T>(ask: (request: SentRequest) => T, request: unknown): T | undefined {
  try {
    const { parent, object, children, attachments } = request as Record<string, unknown>;
    // A decorator's request has them under names of its own.
    return ask({ parent: parent ?? object, children: children ?? attachments } as SentRequest);
  } catch {
    return undefined;
  }
}

/** One call, as it came. */
interface Call {
  bytes: Uint8Array;
  body: Body;
  /** In milliseconds since the epoch. */
  startTime: number;
  /** In which its answer is a span; undefined: in none. */
  trace: TraceContext | undefined;
}

/** Waits for nothing from the clock's look to the record, so that a recording has the order in which the hook was asked. */
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

/** Answers a body that is not taken: what is left of it is not waited for. */
function declined({ status, message }: HTTPException): Response {
  const headers = { Connection: "close", ...retryAfter(status, BUSY_RETRY_SECONDS) };
  return Response.json({ error: message }, { status, headers });
}

function retryAfter(status: number, seconds: number): Record<string, string> {
  return status === 429 ? { "Retry-After": String(seconds) } : {};
}

/** Names the parent of a request for the log; where the body is not in shape, anything may stand in a name's place. */
function parentOf(body: unknown): Record<string, unknown> {
  const { metadata } = sentParent(body);
  const { namespace, name, uid, generation } = isObject(metadata) ? metadata : {};
  const plain = Object.entries({ namespace, name, uid, generation }).filter(([, value]) => typeof value !== "object");
  return Object.fromEntries(plain);
}
