/** Defines hookbox's interface to an API server, and helpers for its answers. The implementation is connection.ts. @module */

/** A request. `path` begins with `/api` or `/apis`. */
export interface ApiRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /**
   * Content of a PATCH: a JSON merge patch, a whole object for server-side apply, or a strategic merge patch, which only
   * the kinds of Kubernetes itself accept. @default "merge"
   */
  patch?: "merge" | "apply" | "strategic";
  /** If the answer is longer, the request fails with `AnswerTooLong`. @default any length */
  mostBytes?: number;
  /** Aborts the request. */
  signal?: AbortSignal | undefined;
}

/** Content types of a PATCH. */
export const PATCH_TYPES: Record<NonNullable<ApiRequest["patch"]>, string> = {
  merge: "application/merge-patch+json",
  apply: "application/apply-patch+yaml",
  strategic: "application/strategic-merge-patch+json",
};

/**
 * An answer with any status. `body` is the parsed JSON, for an error a `Status` object. If a successful answer is not
 * JSON, it is text.
 */
export interface Answer {
  status: number;
  body: unknown;
}

/**
 * One line of a watch. The type is `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`; the object of `ERROR` is a
 * `Status`.
 */
export interface WatchEvent {
  type: string;
  object: unknown;
}

/** The answer has more bytes than the caller accepts. */
export class AnswerTooLong extends Error {
  override readonly name = "AnswerTooLong";

  constructor(mostBytes: number) {
    super(`Cannot read the API server's answer: it is longer than ${mostBytes} bytes`);
  }
}

/** Longest time without data on a watch, in milliseconds. Most API servers send a bookmark every minute. */
export const WATCH_SILENCE_MS = 90_000;

/**
 * A watch has received no data for a while. Its connection may be dead, or nothing may have happened: if etcd does not
 * report progress, the API server sends no bookmarks.
 */
export class WatchSilent extends Error {
  override readonly name = "WatchSilent";

  constructor(ms: number) {
    super(`Cannot watch: silence for ${ms / 1000} s`);
  }
}

/** An API server. `send` and `watch` throw only if no complete answer arrives; an answer of any status is returned. */
export interface Api {
  /**
   * Returns the API server's time, in milliseconds since the epoch. If the method or its result is undefined, the time
   * is not known.
   */
  now?(): number | undefined;
  /** Sends a request and reads the whole answer. */
  send(request: ApiRequest): Promise<Answer>;
  /**
   * Opens a watch. `events` ends when the server closes the watch. It throws if the connection breaks, and throws
   * `WatchSilent` if no data arrives.
   *
   * @param signal aborts the watch: `events` throws its reason
   * @returns `events` is empty unless `status` is 200
   */
  watch(
    path: string,
    query: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Answer & { events: AsyncIterable<WatchEvent> }>;
}

/** Identifies an object or a collection for {@link pathOf}. */
export interface ObjectPath {
  /** Plural name, as in the URL. */
  resource: keyof typeof GROUP_VERSIONS;
  /** Absent: all namespaces. */
  namespace?: string | undefined;
  /** Absent: the collection. */
  name?: string;
}

const GROUP_VERSIONS = {
  secrets: "/api/v1",
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

/** Returns the API server's time, in milliseconds since the epoch. If that is not known, returns this machine's time. */
export function timeAt(api: Pick<Api, "now">): number {
  return api.now?.() ?? Date.now();
}

/** Returns whether an answer is a success. */
export function isOk({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** Returns the API server's error message; if there is none, a text with the status code. */
export function messageOf({ status, body }: Answer): string {
  const message = (body as { message?: unknown } | null)?.message;
  return typeof message === "string" && message !== "" ? message : `HTTP status ${status}`;
}

/** Creates the error for an answer that the caller cannot handle: `Cannot <action>: <message of the API server>`. */
export function answerError(action: string, answer: Answer): Error {
  return new Error(`Cannot ${action}: ${messageOf(answer)} (status ${answer.status})`);
}
