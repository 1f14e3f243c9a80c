/** Talks JSON to an API server over connections that are kept. Decides nothing and tries nothing twice. @module */
import { type Answer, AnswerTooLong, type Api, type ApiRequest, type WatchEvent } from "./api.ts";
import { createDeadlines } from "../process/deadlines.ts";
import { createGathered } from "../process/gathered.ts";
import type { Credentials } from "./credentials.ts";
import { createSend, type Incoming, nothing } from "./transport.ts";

/** How patient a connection is, and who wants to know of its answers. Times in milliseconds. */
export interface ConnectionOptions {
  /** Ends all requests, running and coming. */
  signal: AbortSignal;
  /** Longest wait for an answer. @default 30000 */
  timeoutMs?: number;
  /** Longest silence of a watch; the API server sends a bookmark every minute. @default 90000 */
  silenceMs?: number;
  /** Name under which the API server's audit log shows the requests. */
  userAgent: string;
  onAnswer?: (method: string, status: number) => void;
}

const PATCH_TYPES = { merge: "application/merge-patch+json", apply: "application/apply-patch+yaml" } as const;

type Open = (request: ApiRequest, signal: AbortSignal, accept?: string) => Promise<Incoming>;

/** Makes the connection; the first request opens it. */
export function connect(credentials: Credentials, options: ConnectionOptions): Api {
  const { signal, timeoutMs = 30_000, silenceMs = 90_000, onAnswer = () => {} } = options;
  const open = createOpen(credentials, options.userAgent);
  const limit = createLimit(signal, timeoutMs);
  return {
    async send(request) {
      const { signal, end } = limit(request.signal);
      try {
        const answer = await answerOf(await open(request, signal), request.mostBytes);
        onAnswer(request.method, answer.status);
        return answer;
      } finally {
        end();
      }
    },
    async watch(path, query, given) {
      const silence = createSilence(silenceMs, given);
      try {
        const request: ApiRequest = { method: "GET", path, query: { ...query, watch: "true" } };
        const response = await open(request, AbortSignal.any([signal, silence.signal]));
        onAnswer("WATCH", response.status);
        if (response.status === 200) return { status: 200, body: null, events: eventsOf(response.chunks, silence) };
        return { ...await answerOf(response), events: eventsOf(nothing(), silence) };
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
 * @throws only if no answer comes; `chunks` throws if it breaks off
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
  // Deno's fetch has the reason one level below.
  return new Error(`Cannot reach ${server}: ${cause?.message ?? message}`, { cause: error });
}

async function answerOf({ status, ...response }: Incoming, mostBytes?: number): Promise<Answer> {
  const text = mostBytes === undefined ? await response.text() : await textUpTo(response.chunks, mostBytes);
  let read: { body: unknown } | undefined;
  // Nobody reads what most writes are answered.
  return {
    status,
    get body() {
      return (read ??= { body: bodyOf(status, text) }).body;
    },
  };
}

async function textUpTo(chunks: AsyncIterable<Uint8Array>, mostBytes: number): Promise<string> {
  const gathered = createGathered();
  for await (const chunk of chunks) {
    gathered.add(chunk);
    if (gathered.size() > mostBytes) throw new AnswerTooLong(mostBytes);
  }
  return gathered.takeText();
}

function bodyOf(status: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return status === 200 ? text : { message: text.trim().slice(0, 500) };
  }
}

type Limit = (given: AbortSignal | undefined) => { signal: AbortSignal; end(): void };

/** Makes the signals of single requests: they fire with `whole`, with the one that is given, or when time is over. */
function createLimit(whole: AbortSignal, timeoutMs: number): Limit {
  const running = new Set<AbortController>();
  const deadlines = createDeadlines(timeoutMs);
  whole.addEventListener("abort", () => running.forEach((controller) => controller.abort(whole.reason)));
  return (given) => {
    const controller = new AbortController();
    const tooLate = () => controller.abort(new Error(`no answer in ${timeoutMs / 1000} s`));
    const follow = () => controller.abort(given?.reason);
    const endDeadline = deadlines.begin(tooLate);
    running.add(controller);
    given?.addEventListener("abort", follow);
    for (const signal of [whole, given]) if (signal?.aborted) controller.abort(signal.reason);
    const end = () => {
      endDeadline();
      running.delete(controller);
      given?.removeEventListener("abort", follow);
    };
    return { signal: controller.signal, end };
  };
}

interface Silence {
  signal: AbortSignal;
  heard(): void;
  stop(): void;
}

/** A signal that fires when `heard` has not been called for a while, or with `given`. */
function createSilence(ms: number, given: AbortSignal | undefined): Silence {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`Cannot watch: silence for ${ms / 1000} s`)), ms);
  const signal = given ? AbortSignal.any([controller.signal, given]) : controller.signal;
  return { signal, heard: () => timer.refresh(), stop: () => clearTimeout(timer) };
}

async function* eventsOf(body: AsyncIterable<Uint8Array>, silence: Silence) {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body) {
      silence.heard();
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as WatchEvent;
    }
  } catch (error) {
    throw silence.signal.aborted ? silence.signal.reason : error;
  } finally {
    silence.stop();
  }
}
