/** Connects the dashboard to the API server: through the router, with fetch and the user's token. @module */
import {
  type Answer,
  type Api,
  type ApiRequest,
  isOk,
  messageOf,
  WATCH_SILENCE_MS,
  type WatchEvent,
} from "../kube/api.ts";
import { linesOf } from "../sdk/runtime/streams.ts";

/** A connection to the API server, and what it was made from. */
export interface Session {
  api: Api;
  /** Base URL of the router's proxy to the API server, without a slash at its end. */
  base: string;
  token: string;
}

const PATCH_TYPES = { merge: "application/merge-patch+json", apply: "application/apply-patch+yaml" };

/**
 * Makes the connection.
 *
 * @param base base URL of the router's proxy to the API server, without a slash at its end
 * @param onRefused called when the API server does not accept the token, or no longer does
 */
export function connect(base: string, token: string, onRefused: () => void): Api {
  const ask = async (path: string, query: Record<string, string>, init: RequestInit): Promise<Response> => {
    const parameters = new URLSearchParams(query).toString();
    const headers = { ...init.headers, Authorization: `Bearer ${token}` };
    const response = await fetch(`${base}${path}${parameters && `?${parameters}`}`, { ...init, headers });
    if (response.status === 401) onRefused();
    return response;
  };
  return {
    async send({ method, path, query = {}, body, patch = "merge", signal }) {
      const type = method === "PATCH" ? PATCH_TYPES[patch] : "application/json";
      const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": type } };
      return await answerOf(await ask(path, query, { method, ...content, signal: signal ?? null }));
    },
    async watch(path, query, signal) {
      const response = await ask(path, { ...query, watch: "true" }, { signal: signal ?? null });
      if (response.status !== 200) return { ...await answerOf(response), events: nothing() };
      return { status: 200, body: null, events: eventsOf(response) };
    },
  };
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
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` }, signal });
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
