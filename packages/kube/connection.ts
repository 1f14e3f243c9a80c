/** Sends JSON requests to an API server over persistent connections. It does not retry. @module */
import { parseJson } from "../api/objects/json.ts";
import { createDeadlines } from "../process/clock.ts";
import { createByteBuffer } from "../process/bytebuffer.ts";
import {
  type Answer,
  AnswerTooLong,
  type Api,
  type ApiRequest,
  PATCH_TYPES,
  WATCH_SILENCE_MS,
  type WatchEvent,
  WatchSilent,
} from "./api.ts";
import type { Credentials } from "./credentials.ts";
import { createSend, type Incoming, nothing } from "./transport.ts";

/** Timeouts of a connection, and a callback for its answers. Times are in milliseconds. */
export interface ConnectionOptions {
  /** Aborts all requests, current and future. */
  signal: AbortSignal;
  /** Longest wait for an answer. @default 30000 */
  timeoutMs?: number;
  /** Longest time without data on a watch. @default {WATCH_SILENCE_MS} */
  silenceMs?: number;
  /** User agent of the requests; the API server's audit log shows it. */
  userAgent: string;
  onAnswer?: (method: string, status: number) => void;
}

type Open = (request: ApiRequest, signal: AbortSignal, accept?: string) => Promise<Incoming>;

/** Creates the connection; the first request opens it. */
export function connect(credentials: Credentials, options: ConnectionOptions): Api {
  const { signal, timeoutMs = 30_000, silenceMs = WATCH_SILENCE_MS, onAnswer = () => {} } = options;
  const clock = createServerClock();
  const send = createOpen(credentials, options.userAgent);
  const open: Open = async (...request) => {
    const sentAt = performance.now();
    const response = await send(...request);
    clock.answered(response.date, sentAt, performance.now());
    return response;
  };
  const begin = createEndings(signal);
  const deadlines = createDeadlines(timeoutMs);
  return {
    now: clock.now,
    async send(request) {
      const { signal, abort, end } = begin(request.signal);
      const endDeadline = deadlines.begin(() => abort(new Error(`no answer in ${timeoutMs / 1000} s`)));
      try {
        const answer = await answerOf(await open(request, signal), request.mostBytes);
        onAnswer(request.method, answer.status);
        return answer;
      } finally {
        endDeadline();
        end();
      }
    },
    async watch(path, query, given) {
      const silence = createSilence(silenceMs, begin(given));
      try {
        const request: ApiRequest = { method: "GET", path, query: { ...query, watch: "true" } };
        const response = await open(request, silence.signal);
        onAnswer("WATCH", response.status);
        if (response.status === 200) return { status: 200, body: null, events: eventsOf(response.chunks, silence) };
        const answer = await answerOf(response);
        silence.stop();
        return { ...answer, events: eventsOf(nothing(), silence) };
      } catch (error) {
        silence.stop();
        throw error;
      }
    },
  };
}

/**
 * Opens an answer that is text and may never end, such as a container's log.
 *
 * @returns `chunks` is empty unless `status` is 200
 * @throws only if no answer arrives; `chunks` throws if the connection breaks
 */
export async function openText(
  credentials: Credentials,
  { path, query = {} }: Pick<ApiRequest, "path" | "query">,
  { signal, userAgent }: Pick<ConnectionOptions, "signal" | "userAgent">,
): Promise<Answer & { chunks: AsyncIterable<Uint8Array> }> {
  const response = await createOpen(credentials, userAgent)({ method: "GET", path, query }, signal, "*/*");
  if (response.status === 200) return { status: 200, body: null, chunks: response.chunks };
  return { ...await answerOf(response), chunks: nothing() };
}

function createOpen(credentials: Credentials, userAgent: string): Open {
  const send = createSend();
  return async ({ method, path, query = {}, body, patch = "merge" }, signal, accept = "application/json") => {
    const pass = await credentials.current();
    const parameters = new URLSearchParams(query).toString();
    const url = `${credentials.server}${path}${parameters && `?${parameters}`}`;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const type = method === "PATCH" ? PATCH_TYPES[patch] : "application/json";
    const headers = {
      ...pass.headers,
      Accept: accept,
      "User-Agent": userAgent,
      ...(text === undefined ? {} : { "Content-Type": type }),
    };
    try {
      return await send({ url, method, headers, text, signal }, pass);
    } catch (error) {
      throw unreachable(credentials.server, error, signal);
    }
  };
}

function unreachable(server: string, error: unknown, signal: AbortSignal): Error {
  const { message, cause } = (signal.aborted ? signal.reason : error) as {
    message?: string;
    cause?: { message?: string };
  };
  // In an error of Deno's fetch, the reason is one level deeper.
  return new Error(`Cannot reach ${server}: ${cause?.message ?? message}`, { cause: error });
}

async function answerOf({ status, ...response }: Incoming, mostBytes?: number): Promise<Answer> {
  const text = mostBytes === undefined ? await response.text() : await textUpTo(response.chunks, mostBytes);
  let read: { body: unknown } | undefined;
  // Parsed only on access, because callers ignore the bodies of most answers to writes.
  return {
    status,
    get body() {
      return (read ??= { body: bodyOf(status, text) }).body;
    },
  };
}

async function textUpTo(chunks: AsyncIterable<Uint8Array>, mostBytes: number): Promise<string> {
  const gathered = createByteBuffer();
  for await (const chunk of chunks) {
    gathered.add(chunk);
    if (gathered.size() > mostBytes) throw new AnswerTooLong(mostBytes);
  }
  return gathered.takeText();
}

function bodyOf(status: number, text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return status === 200 ? text : { message: text.trim().slice(0, 500) };
  }
}

/** Lets a request be aborted before its answer is complete. */
interface Ending {
  signal: AbortSignal;
  abort(reason: unknown): void;
  /** Call when the request has finished. */
  end(): void;
}

/**
 * Creates the signals of requests. They fire with `whole` or with the signal of the request. Each belongs to an
 * AbortController of its own: a signal of `AbortSignal.any()` can be garbage-collected, and then a watch would never
 * end.
 */
function createEndings(whole: AbortSignal): (given: AbortSignal | undefined) => Ending {
  const running = new Set<AbortController>();
  whole.addEventListener("abort", () => running.forEach((controller) => controller.abort(whole.reason)));
  return (given) => {
    const controller = new AbortController();
    const follow = () => controller.abort(given?.reason);
    running.add(controller);
    given?.addEventListener("abort", follow);
    for (const signal of [whole, given]) if (signal?.aborted) controller.abort(signal.reason);
    const end = () => {
      running.delete(controller);
      given?.removeEventListener("abort", follow);
    };
    return { signal: controller.signal, abort: (reason) => controller.abort(reason), end };
  };
}

interface Silence {
  signal: AbortSignal;
  heard(): void;
  stop(): void;
}

/** Aborts a watch if `heard` has not been called for `ms` milliseconds. */
function createSilence(ms: number, { signal, abort, end }: Ending): Silence {
  const timer = setTimeout(() => abort(new WatchSilent(ms)), ms);
  const stop = () => {
    clearTimeout(timer);
    end();
  };
  // Stop the timer on abort: the reader may have stopped reading the events, and a process does not exit while a timer
  // runs.
  signal.addEventListener("abort", stop, { once: true });
  return { signal, heard: () => timer.refresh(), stop };
}

async function* eventsOf(body: AsyncIterable<Uint8Array>, silence: Silence) {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body) {
      silence.heard();
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield parseJson(line) as WatchEvent;
    }
  } catch (error) {
    throw silence.signal.aborted ? silence.signal.reason : error;
  } finally {
    silence.stop();
  }
}

interface ServerClock {
  /**
   * Learns from an answer.
   *
   * @param date the Date header, in whole seconds; undefined, or not a date: the answer is ignored
   * @param sentAt when the request was sent, in milliseconds of the monotonic clock
   * @param at when the answer came, by the same clock
   */
  answered(date: string | undefined, sentAt: number, at: number): void;
  /** Returns the time in milliseconds since the epoch; undefined: no answer had a date. */
  now(): number | undefined;
}

/**
 * Creates the clock. The server sent each answer between `sentAt` and `at`, and the date was at most a second old then: this
 * bounds the server's time. The clock uses the highest lower bound, so it is at most a second late.
 */
export function createServerClock(monotonic: () => number = () => performance.now()): ServerClock {
  /** The server's time minus the monotonic clock, in milliseconds. */
  let ahead: number | undefined;
  return {
    answered(date = "", sentAt, at) {
      const then = Date.parse(date);
      if (Number.isNaN(then)) return;
      const [least, most] = [then - at, then + 1000 - sentAt];
      // Above the upper bound: the server's clock was set back, or this machine's clock runs fast.
      ahead = ahead === undefined || ahead > most ? least : Math.max(ahead, least);
    },
    now: () => ahead === undefined ? undefined : monotonic() + ahead,
  };
}
