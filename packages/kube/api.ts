/** What hookbox needs of an API server, and how its answers are read. Holds no connection: see connection.ts. @module */

/** One request. `path` begins with `/api` or `/apis`. */
export interface ApiRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** What a PATCH is: a JSON merge patch, or a whole object to be applied by the server. @default "merge" */
  patch?: "merge" | "apply";
  /** A longer answer is given up, with an error of the name `AnswerTooLong`. @default any length */
  mostBytes?: number;
  /** Gives the request up. */
  signal?: AbortSignal | undefined;
}

/** An answer of any status; `body` is the parsed JSON, for an error a `Status` object; text if a good answer is no JSON. */
export interface Answer {
  status: number;
  body: unknown;
}

/** One line of a watch: `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`, whose object is a `Status`. */
export interface WatchEvent {
  type: string;
  object: unknown;
}

/** The answer has more bytes than whoever asked would read. */
export class AnswerTooLong extends Error {
  override readonly name = "AnswerTooLong";

  constructor(mostBytes: number) {
    super(`Cannot read the API server's answer: it is longer than ${mostBytes} bytes`);
  }
}

/** Longest silence of a watch, in milliseconds; most API servers send a bookmark every minute. */
export const WATCH_SILENCE_MS = 90_000;

/**
 * Nothing came through a watch for a while. Its connection may be dead, or nothing may have happened: an API server whose
 * etcd reports no progress sends no bookmarks then.
 */
export class WatchSilent extends Error {
  override readonly name = "WatchSilent";

  constructor(ms: number) {
    super(`Cannot watch: silence for ${ms / 1000} s`);
  }
}

/** An API server. Both functions throw only if no whole answer comes; an answer of any status is returned. */
export interface Api {
  /** Returns the API server's time, in milliseconds since the epoch. Undefined, or absent: not known. */
  now?(): number | undefined;
  /** Sends a request and reads its answer whole. */
  send(request: ApiRequest): Promise<Answer>;
  /**
   * Opens a watch. `events` ends when the server closes it, and throws if the connection breaks, or `WatchSilent`.
   *
   * @param signal ends it: `events` throws its reason
   * @returns `events` is empty unless `status` is 200
   */
  watch(
    path: string,
    query: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Answer & { events: AsyncIterable<WatchEvent> }>;
}

/** Names what hookbox touches, for {@link pathOf}. */
export interface ObjectPath {
  /** Plural, as in the URL. */
  resource: keyof typeof GROUP_VERSIONS;
  /** Absent: all of them. */
  namespace?: string | undefined;
  /** Absent: the collection. */
  name?: string;
}

const GROUP_VERSIONS = {
  sandboxes: "/apis/agents.x-k8s.io/v1beta1",
  sandboxclaims: "/apis/extensions.agents.x-k8s.io/v1beta1",
  sandboxwarmpools: "/apis/extensions.agents.x-k8s.io/v1beta1",
  sandboxtemplates: "/apis/extensions.agents.x-k8s.io/v1beta1",
  pods: "/api/v1",
  services: "/api/v1",
  persistentvolumeclaims: "/api/v1",
  deployments: "/apis/apps/v1",
  leases: "/apis/coordination.k8s.io/v1",
  namespaces: "/api/v1",
  networkpolicies: "/apis/networking.k8s.io/v1",
  events: "/api/v1",
  resourcequotas: "/api/v1",
  nodes: "/api/v1",
  storageclasses: "/apis/storage.k8s.io/v1",
} as const;

/** Returns the URL path of an object or a collection. */
export function pathOf({ resource, namespace, name }: ObjectPath): string {
  const scope = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  const tail = name === undefined ? "" : `/${encodeURIComponent(name)}`;
  return `${GROUP_VERSIONS[resource]}${scope}/${resource}${tail}`;
}

/** Returns the API server's time, or this machine's if that is not known, in milliseconds since the epoch. */
export function timeAt(api: Pick<Api, "now">): number {
  return api.now?.() ?? Date.now();
}

/** Tells whether an answer is a success. */
export function isOk({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** Returns the API server's own words for a refusal; the bare status if it has none. */
export function messageOf({ status, body }: Answer): string {
  const message = (body as { message?: unknown } | null)?.message;
  return typeof message === "string" && message !== "" ? message : `HTTP status ${status}`;
}

/** Makes the error for an answer that leaves nothing to decide: `Cannot <action>: <the API server's words>`. */
export function answerError(action: string, answer: Answer): Error {
  return new Error(`Cannot ${action}: ${messageOf(answer)} (status ${answer.status})`);
}
