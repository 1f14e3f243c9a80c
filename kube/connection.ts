/** Talks JSON to an API server over connections that are kept. Decides nothing and tries nothing twice. @module */
import { Buffer } from "node:buffer";
import { Agent as HTTPAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
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

type Open = (request: ApiRequest, signal: AbortSignal, accept?: string) => Promise<IncomingMessage>;

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
        const request: ApiRequest = { method: "GET", path, query: { ...query, watch: "true" } };
        const response = await open(request, AbortSignal.any([signal, silence.signal]));
        onAnswer("WATCH", response.statusCode ?? 0);
        if (response.statusCode === 200) return { status: 200, body: null, events: eventsOf(response, silence) };
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
  if (response.statusCode === 200) return { status: 200, body: null, chunks: response };
  return { ...await answerOf(response), chunks: nothing() };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function createOpen(credentials: Credentials, userAgent: string): Open {
  const agentFor = createAgents();
  return async ({ method, path, query = {}, body, patch = "merge" }, signal, accept = "application/json") => {
    const pass = await credentials.current();
    const parameters = new URLSearchParams(query).toString();
    const url = `${credentials.server}${path}${parameters && `?${parameters}`}`;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const type = method === "PATCH" ? PATCH_TYPES[patch] : "application/json";
    const options: RequestOptions = {
      method,
      signal,
      agent: pass.agent ?? agentFor(url, pass),
      headers: {
        ...pass.headers,
        Accept: accept,
        "User-Agent": userAgent,
        ...(text === undefined ? {} : { "Content-Type": type, "Content-Length": Buffer.byteLength(text) }),
      },
    };
    return await new Promise((fulfil, reject) => {
      const request = url.startsWith("http:")
        ? httpRequest(url, options)
        : httpsRequest(url, { ...pass.tls, ...options });
      const fail = (error: Error) => reject(unreachable(credentials.server, error, signal));
      request.once("response", fulfil).once("error", fail).end(text);
    });
  };
}

function unreachable(server: string, error: Error, signal: AbortSignal): Error {
  const { message } = signal.aborted && signal.reason instanceof Error ? signal.reason : error;
  return new Error(`Cannot reach ${server}: ${message}`, { cause: error });
}

/** One set of kept connections at a time: other certificates begin a new one. */
function createAgents(): (url: string, pass: Pass) => HTTPAgent {
  const settings = { keepAlive: true, keepAliveMsecs: 30_000, timeout: 60_000 };
  let kept: { pass: Pass; identity: string; agent: HTTPAgent } | undefined;
  return (url, pass) => {
    if (kept?.pass === pass) return kept.agent;
    const identity = JSON.stringify(pass.tls);
    if (kept?.identity !== identity) {
      const agent = url.startsWith("http:") ? new HTTPAgent(settings) : new Agent({ ...settings, ...pass.tls });
      kept = { pass, identity, agent };
    }
    kept.pass = pass;
    return kept.agent;
  };
}

async function answerOf(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const status = response.statusCode ?? 0;
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
      const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as WatchEvent;
    }
  } catch (error) {
    throw silence.signal.aborted ? silence.signal.reason : error;
  } finally {
    silence.stop();
  }
}
