/**
 * Connects the dashboard to the API server: through the router, with the user's token, over the page's one connection.
 * @module
 */
/// <reference lib="dom" />
import {
  type Answer,
  type Api,
  type ApiRequest,
  isOk,
  messageOf,
  PATCH_TYPES,
  WATCH_SILENCE_MS,
  type WatchEvent,
} from "../kube/api.ts";
import { linesOf } from "../sdk/runtime/streams.ts";
import { type Connection, createConnection } from "./connection.ts";

/** A connection to the API server, and what it was made from. */
export interface Session {
  api: Api;
  /** Base URL of the router's proxy to the API server, without a slash at its end. */
  base: string;
  /** Empty: a proxy in front of the router adds the token. */
  token: string;
  previews: Previews | undefined;
}

/** How browsers open pages of sandboxes; absent: sandboxes have no hosts of their own. */
export interface Previews {
  /** The router's option `--domain`. */
  domain: string;
  /** The router admits requests without a token. */
  isOpen: boolean;
  /** Parameter of the address in which a browser may send its token once; absent: there is none. */
  tokenParameter?: string;
}

let shared: Connection | undefined;

/** Returns the page's connection to the router. It is opened by the first request. */
export function routerConnection(): Connection {
  return shared ??= createConnection({
    page: location.href?.replace(/[^/]*([?#].*)?$/, "") ?? `${location.origin}/.hookbox/`,
    WebSocket: globalThis.WebSocket,
    fetch: (url, init) => fetch(url, init),
  });
}

/** Like `fetch`, over the page's connection: for everything that the page asks the router. */
export function routerFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  return routerConnection().fetch(url, init);
}

/** Tells whether the user sees the page. */
export interface Visibility {
  isHidden(): boolean;
  /** Calls the listener when the page was hidden or shown. @returns a function that ends this */
  subscribe(listener: () => void): () => void;
}

const PAGE: Visibility = {
  isHidden: () => document.hidden,
  subscribe(listener) {
    document.addEventListener("visibilitychange", listener);
    return () => document.removeEventListener("visibilitychange", listener);
  },
};

/** How long a page may be hidden before its watches stop, in milliseconds. */
const HIDDEN_MS = 30_000;
/**
 * A watch that was stopped for longer lists again, in milliseconds. Otherwise it continues from the last version that it
 * has seen: after a longer time, that version may be one of before a restore of etcd.
 */
const RESUME_MS = 300_000;

/**
 * Makes the connection. While the page is hidden, watches stop; they continue when it is shown.
 *
 * @param base base URL of the router's proxy to the API server, without a slash at its end
 * @param onRefused called when the API server does not accept the token, or no longer does
 */
export function connect(
  base: string,
  token: string,
  onRefused: () => void,
  { fetch = routerFetch, visibility = PAGE, hiddenMs = HIDDEN_MS, resumeMs = RESUME_MS }: {
    fetch?: typeof routerFetch;
    visibility?: Visibility;
    hiddenMs?: number;
    resumeMs?: number;
  } = {},
): Api {
  const ask = async (path: string, query: Record<string, string>, init: RequestInit): Promise<Response> => {
    const parameters = new URLSearchParams(query).toString();
    const request = { ...init, ...credentialsFor(token), headers: { ...init.headers, ...headersFor(token) } };
    const response = await fetch(`${base}${path}${parameters && `?${parameters}`}`, request);
    if (isRefused(response, token)) onRefused();
    return response;
  };
  const open = async (path: string, query: Record<string, string>, signal: AbortSignal | undefined) => {
    const response = await ask(path, { ...query, watch: "true" }, { signal: signal ?? null });
    if (response.status !== 200) return { ...await answerOf(response), events: nothing() };
    return { status: 200, body: null, events: eventsOf(response) };
  };
  return {
    async send({ method, path, query = {}, body, patch = "merge", signal }) {
      const type = method === "PATCH" ? PATCH_TYPES[patch] : "application/json";
      const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": type } };
      return await answerOf(await ask(path, query, { method, ...content, signal: signal ?? null }));
    },
    async watch(path, query, signal) {
      const pause = createPause(visibility, hiddenMs, signal);
      let version = query["resourceVersion"] ?? "";
      const openWhenShown = async () => {
        for (;;) {
          try {
            return await open(path, { ...query, resourceVersion: version }, pause.signal());
          } catch (error) {
            await afterPause(error);
          }
        }
      };
      /** Waits if the error comes from a pause. @throws the error if not, or if the pause was too long */
      const afterPause = async (error: unknown) => {
        if (!pause.signal().aborted || signal?.aborted) throw error;
        if (await pause.over() > resumeMs) throw new Error("The page was hidden for a while.");
      };
      const first = await openWhenShown().catch((error) => {
        pause.end();
        throw error;
      });
      if (first.status !== 200) pause.end();
      return { ...first, events: events() };

      async function* events(): AsyncGenerator<WatchEvent> {
        try {
          for (let current: typeof first = first;;) {
            try {
              for await (const event of current.events) {
                version = versionOf(event) ?? version;
                yield event;
              }
              return;
            } catch (error) {
              await afterPause(error);
            }
            current = await openWhenShown();
            if (current.status !== 200) throw new Error(messageOf(current));
          }
        } finally {
          pause.end();
        }
      }
    },
  };
}

function headersFor(token: string): Record<string, string> {
  return token === "" ? {} : { Authorization: `Bearer ${token}` };
}

/** Returns whether to send cookies. Without a token, those of a proxy in front sign the user in. */
export function credentialsFor(token: string): { credentials: "omit" | "same-origin" } {
  return { credentials: token === "" ? "same-origin" : "omit" };
}

/**
 * Returns whether an answer means that nobody is signed in. Instead of 401, a proxy in front may send its sign-in page,
 * or a redirect to its provider.
 */
export function isRefused({ status, type, headers }: Response, token: string): boolean {
  if (status === 401 || token !== "") return status === 401;
  return type === "opaqueredirect" || (status >= 300 && status < 400) ||
    headers.get("Content-Type")?.startsWith("text/html") === true;
}

/** Fires a signal when the page has been hidden for `hiddenMs`, and another one after each pause. */
function createPause(visibility: Visibility, hiddenMs: number, signal: AbortSignal | undefined) {
  let stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pausedAt: number | undefined;
  let onShown = () => {};
  const end = () => {
    clearTimeout(timer);
    stop.abort(signal?.reason);
    unsubscribe();
    onShown();
  };
  const look = () => {
    clearTimeout(timer);
    if (!visibility.isHidden()) return onShown();
    timer = setTimeout(() => {
      pausedAt ??= Date.now();
      stop.abort();
    }, hiddenMs);
  };
  const unsubscribe = visibility.subscribe(look);
  signal?.addEventListener("abort", end, { once: true });
  look();
  return {
    signal: () => stop.signal,
    /** Waits until the page is shown. @returns the length of the pause in milliseconds @throws the reason of the signal */
    async over(): Promise<number> {
      while (visibility.isHidden() && !signal?.aborted) await new Promise<void>((resolve) => onShown = resolve);
      signal?.throwIfAborted();
      stop = new AbortController();
      const ms = Date.now() - (pausedAt ?? Date.now());
      pausedAt = undefined;
      return ms;
    },
    end() {
      signal?.removeEventListener("abort", end);
      end();
    },
  };
}

function versionOf({ object }: WatchEvent): string | undefined {
  return (object as { metadata?: { resourceVersion?: string } }).metadata?.resourceVersion;
}

/** Sends a request and ignores the body of the answer. @returns the error for people; undefined: it succeeded */
export async function troubleOf(api: Api, request: ApiRequest): Promise<string | undefined> {
  try {
    const answer = await api.send(request);
    return isOk(answer) ? undefined : messageOf(answer);
  } catch (error) {
    return String(error);
  }
}

/** Which log to read, and how much of it. */
interface LogRequest {
  namespace: string;
  pod: string;
  /** Absent: the only container. */
  container?: string;
  /** Reads the log of the container's run before this one. */
  previous?: boolean;
  /** Waits for more at the end. */
  follow: boolean;
  /** Absent: the whole log. */
  tailLines?: number;
}

/** Yields the log of a container. @throws {Error} with the API server's message if there is no log */
export async function* logOf(
  base: string,
  token: string,
  { namespace, pod, ...query }: LogRequest,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const parameters = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
  const url = `${base}/api/v1/namespaces/${namespace}/pods/${pod}/log?${parameters}`;
  const response = await routerFetch(url, { ...credentialsFor(token), headers: headersFor(token), signal });
  // The Pod has no node yet, so there is no log.
  if (response.status === 204) return;
  if (response.status !== 200) throw new Error(messageOf(await answerOf(response)));
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  try {
    const body = JSON.parse(text);
    // An error text of the router itself.
    return { status: response.status, body: typeof body.detail === "string" ? { message: body.detail } : body };
  } catch {
    return { status: response.status, body: response.ok ? text : { message: text.slice(0, 500) } };
  }
}

async function* nothing(): AsyncGenerator<WatchEvent> {}

async function* eventsOf({ body }: Response): AsyncGenerator<WatchEvent> {
  for await (const line of linesOf(body, WATCH_SILENCE_MS)) if (line !== "") yield JSON.parse(line);
}
