/** Talks JSON to an API server over connections that are kept. Decides nothing and tries nothing twice. @module */
import { Agent, type Dispatcher, ProxyAgent, request, Socks5ProxyAgent } from "undici";
import type { Answer, Api, ApiRequest, WatchEvent } from "./api.ts";
import type { Credentials, Pass } from "./credentials.ts";

/** How patient a connection is, and who wants to know of its answers. Times in milliseconds. */
export interface ConnectionOptions {
  /** Ends all requests, running and coming. */
  signal: AbortSignal;
  /** Longest wait for an answer. @default {30000} */
  timeoutMs?: number;
  /** Longest silence of a watch; the API server sends a bookmark every minute. @default {90000} */
  silenceMs?: number;
  /** Name under which the API server's audit log shows the requests. */
  userAgent: string;
  onAnswer?: (method: string, status: number) => void;
}

const PATCH_TYPES = { merge: "application/merge-patch+json", apply: "application/apply-patch+yaml" } as const;

type Opened = Dispatcher.ResponseData;
type Open = (request: ApiRequest, signal: AbortSignal, accept?: string) => Promise<Opened>;

/** Makes the connection; the first request opens it. */
export function connect(credentials: Credentials, options: ConnectionOptions): Api {
  const { signal, timeoutMs = 30_000, silenceMs = 90_000, onAnswer = () => {} } = options;
  const open = createOpen(credentials, options.userAgent);
  return {
    async send(request) {
      const limits = [signal, AbortSignal.timeout(timeoutMs), ...request.signal ? [request.signal] : []];
      const response = await open(request, AbortSignal.any(limits));
      const answer = await answerOf(response);
      onAnswer(request.method, answer.status);
      return answer;
    },
    async watch(path, query, given) {
      const silence = createSilence(silenceMs, given);
      try {
        const asked: ApiRequest = { method: "GET", path, query: { ...query, watch: "true" } };
        const response = await open(asked, AbortSignal.any([signal, silence.signal]));
        onAnswer("WATCH", response.statusCode);
        if (response.statusCode === 200) return { status: 200, body: null, events: eventsOf(response.body, silence) };
        return { ...await answerOf(response), events: eventsOf([], silence) };
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
  if (response.statusCode === 200) return { status: 200, body: null, chunks: response.body };
  return { ...await answerOf(response), chunks: nothing() };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function createOpen(credentials: Credentials, userAgent: string): Open {
  const dispatcherFor = createDispatchers();
  return async ({ method, path, query = {}, body, patch = "merge" }, signal, accept = "application/json") => {
    const pass = await credentials.current();
    const parameters = new URLSearchParams(query).toString();
    const url = `${credentials.server}${path}${parameters && `?${parameters}`}`;
    const type = method === "PATCH" ? PATCH_TYPES[patch] : "application/json";
    const headers = {
      ...pass.headers,
      accept,
      "user-agent": userAgent,
      ...(body === undefined ? {} : { "content-type": type }),
    };
    const text = body === undefined ? null : JSON.stringify(body);
    try {
      return await request(url, { method, headers, body: text, signal, dispatcher: dispatcherFor(pass) });
    } catch (error) {
      throw unreachable(credentials.server, error, signal);
    }
  };
}

function unreachable(server: string, error: unknown, signal: AbortSignal): Error {
  const cause = signal.aborted && signal.reason instanceof Error ? signal.reason : error;
  return new Error(`Cannot reach ${server}: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause: error,
  });
}

/** One set of kept connections at a time: other certificates begin a new one. */
function createDispatchers(): (pass: Pass) => Dispatcher {
  let kept: { pass: Pass; identity: string; dispatcher: Dispatcher } | undefined;
  return (pass) => {
    if (kept?.pass === pass) return kept.dispatcher;
    const identity = JSON.stringify([pass.tls, pass.proxyURL]);
    if (kept?.identity !== identity) kept = { pass, identity, dispatcher: dispatcherOf(pass) };
    kept.pass = pass;
    return kept.dispatcher;
  };
}

/** Timeouts of 0: none but our own, since watches last. */
const KEPT = { keepAliveTimeout: 60_000, headersTimeout: 0, bodyTimeout: 0 } as const;
/** Sooner than the idle timeouts of load balancers. */
const PROBED = { keepAlive: true, keepAliveInitialDelay: 30_000 } as const;

function dispatcherOf({ tls, proxyURL }: Pass): Dispatcher {
  if (proxyURL === undefined) return new Agent({ ...KEPT, connect: { ...tls, ...PROBED } });
  if (proxyURL.startsWith("socks")) return new Socks5ProxyAgent(proxyURL, { ...KEPT, requestTls: tls });
  return new ProxyAgent({ ...KEPT, uri: proxyURL, requestTls: tls, proxyTunnel: true });
}

async function answerOf({ statusCode: status, body }: Opened): Promise<Answer> {
  const text = await body.text();
  try {
    return { status, body: JSON.parse(text) };
  } catch {
    return { status, body: status === 200 ? text : { message: text.trim().slice(0, 500) } };
  }
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

async function* eventsOf(body: AsyncIterable<unknown> | Iterable<unknown>, silence: Silence) {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body) {
      silence.heard();
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as WatchEvent;
    }
  } catch (error) {
    throw silence.signal.aborted ? silence.signal.reason : error;
  } finally {
    silence.stop();
  }
}
