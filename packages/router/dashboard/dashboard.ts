/** Serves the dashboard's files, and passes its requests to the API server with the user's token. @module */
import { existsSync, readdirSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { APIProxy } from "../../kube/apiproxy.ts";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import { errorFields, type Log } from "../../process/log.ts";
import type { AddressOf } from "../access/clientaddress.ts";
import { isCrossOrigin } from "../access/crossorigin.ts";
import { createRecheck } from "../access/recheck.ts";
import { expiryOf } from "../access/reviews.ts";
import { createPageFiles, type PageFiles, SAFE_HEADERS, sendPageFile, sendRefusal } from "../answer.ts";
import { hostOf, targetsFromHost } from "../destination.ts";
import { type ConcurrencyLimit, createConcurrencyLimit } from "../limits.ts";
import { cutOff, endRequest, isWhole } from "../proxy/versions.ts";
import { isRefusal, type Refusal, unauthorized } from "../refusal.ts";
import { isForKeys, shownKeys } from "./apikeys.ts";
import { createIdentify } from "./identity.ts";
import { createTunnel, STOPPING, type TunnelLimits, type TunnelUpgrade } from "./tunnel.ts";

const BASE = "/.hookbox/";
const API = `${BASE}api/`;
const SETTINGS = `${BASE}settings.json`;

/** Answers requests under {@link BASE}. */
export interface Dashboard {
  /** Tells whether a request is for the dashboard: then it names no sandbox. */
  owns(request: IncomingMessage): boolean;
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Opens the WebSocket over which a page sends its requests. */
  upgrade(upgrade: TunnelUpgrade): void;
  /** Ends what would never end by itself: watches, logs that are followed, and WebSockets without other requests. */
  drain(): void;
}

/** What the page must know before its user has signed in. Everyone who can reach the router can read it. */
interface DashboardSettings {
  /** Name of the cluster; empty: it has none. */
  clusterName: string;
  /** Where the page keeps the token: `memory`, or `session` for the browser's sessionStorage. */
  tokenStorage: "memory" | "session";
  /** How browsers open pages of sandboxes; absent: sandboxes have no hosts of their own. */
  previews?: {
    domain: string;
    /** The router admits requests without a token. */
    isOpen: boolean;
    /** Parameter of the address in which a browser may send its token once; absent: there is none. */
    tokenParameter?: string;
  } | undefined;
}

/** Parts and limits of the dashboard. */
export interface DashboardOptions {
  apiProxy: APIProxy;
  log: Log;
  /** Hosts below this domain belong to sandboxes; undefined: there are none. */
  domain: string | undefined;
  addressOf: AddressOf;
  settings: DashboardSettings;
  tunnel?: TunnelLimits;
  /** Most open requests to the API server, including watches; one user can have a fifth of them. @default 500 */
  maxOpenRequests?: number;
  /** How often to check whether a watch or log may continue, in milliseconds. @default {30_000} */
  authzRecheckInterval?: number;
}

const FOREIGN: Refusal = { status: 403, detail: "A page of another origin may not use the dashboard's API." };
const NO_FILE: Refusal = { status: 404, detail: "There is no such file of the dashboard." };
const NOT_BUILT: Refusal = { status: 404, detail: "The dashboard is not built: npm run build makes it." };
const READ_ONLY: Refusal = { status: 405, detail: "Only GET and HEAD are allowed.", headers: { Allow: "GET, HEAD" } };
const NOT_ALLOWED: Refusal = { status: 403, detail: "The dashboard's API allow-list does not include this request." };
const TOO_MANY: Refusal = { status: 429, detail: "Too many requests are open.", headers: { "Retry-After": "5" } };
const TOO_LONG: Refusal = { status: 413, detail: "The body is too long." };
const NO_ANSWER: Refusal = { status: 502, detail: "The API server cannot be reached." };
const FAILED: Refusal = { status: 500, detail: "The router cannot read a file of the dashboard." };

/** Allows inline styles, as xterm.js writes its sizes and colours into style elements, and images from sandboxes. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob:; " +
  "connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
/** Prevents browsers from showing an answer of the API server as a page of this origin. */
const API_ANSWER_HEADERS = {
  ...SAFE_HEADERS,
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; sandbox",
};
const TOKEN = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i;
/** Paths of watches, and of logs that are followed. */
const ENDLESS = /[?&](watch|follow)=(true|1)(&|$)/;
const MAX_BODY = 256 * 1024;
/** How long a body may take, in milliseconds, and how many can be received at a time, in all and from one address. */
const BODY_MS = 10_000;
const MAX_BODIES = 256;
const MAX_BODIES_EACH = 32;
const WITH_BODY = new Set(["POST", "PATCH", "DELETE"]);

/** Creates the dashboard from its parts. */
export function createDashboard(options: DashboardOptions): Dashboard {
  const { apiProxy, log, domain, addressOf, maxOpenRequests = 500, authzRecheckInterval = 30_000 } = options;
  const files = dashboardFiles();
  const pageFiles = createPageFiles(files);
  const apiRequests = createConcurrencyLimit(maxOpenRequests, Math.ceil(maxOpenRequests / 5));
  const bodies = createConcurrencyLimit(MAX_BODIES, MAX_BODIES_EACH);
  const identify = createIdentify(apiProxy);
  const recheck = createRecheck(authzRecheckInterval);
  const tunnel = createTunnel(addressOf, options.tunnel);
  const endless = new Set<ServerResponse>();
  let isDraining = false;

  async function passToAPI(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const path = url.slice(API.length - 1);
    const [, token] = TOKEN.exec(headers.authorization ?? "") ?? [];
    // A proxy in front may add the user's token to every request of the browser, whichever page has sent it.
    if (isCrossOrigin(request, { authzCookieAllowedOrigins: [] })) return sendRefusal(request, response, FOREIGN);
    if (!isAllowed(method, path)) return sendRefusal(request, response, NOT_ALLOWED);
    if (token === undefined) return sendRefusal(request, response, unauthorized(token));
    const isEndless = ENDLESS.test(path);
    if (isEndless && isDraining) return sendRefusal(request, response, STOPPING);
    if (isEndless) endless.add(response);
    const gone = new AbortController();
    response.once("close", () => {
      endless.delete(response);
      gone.abort();
    });
    let release: (() => void) | undefined;
    try {
      // Until the API server has identified the user, the request uses no slot, and its body is not read.
      const address = addressOf(request);
      const identity = await identify(token, address);
      if (isRefusal(identity)) return sendRefusal(request, response, identity);
      const { holder } = identity;
      if (holder === undefined) return sendRefusal(request, response, unauthorized(token));
      const text = WITH_BODY.has(method) ? await bodyOf(request, bodies(address)) : "";
      if (typeof text === "object") return sendRefusal(request, response, text);
      release = apiRequests(holder);
      if (release === undefined) return sendRefusal(request, response, TOO_MANY);
      const body = text === "" ? undefined : { text, type: headers["content-type"] ?? "application/json" };
      const answer = await apiProxy({ method, path, token, body, signal: gone.signal });
      const shown = isForKeys(method, path) ? await shownKeys(answer) : answer;
      if (isRefusal(shown)) return sendRefusal(request, response, shown);
      const type = /\/log(\?|$)/.test(path) ? "text/plain; charset=utf-8" : "application/json";
      response.writeHead(shown.status, { ...API_ANSWER_HEADERS, "Content-Type": type });
      if (method === "GET") {
        const check = () => checkAgain(apiProxy, path, token, gone.signal);
        recheck({ stream: response, expires: expiryOf(token), check, end: () => cutOff(response) });
      }
      // A watch is open even if it has no events yet.
      response.flushHeaders();
      await pipeline(shown.chunks, response);
    } catch (error) {
      if (gone.signal.aborted || request.socket.destroyed) return;
      log("warn", "Cannot pass a request of the dashboard on", { ...errorFields(error), stack: undefined });
      sendRefusal(request, response, NO_ANSWER);
    } finally {
      release?.();
    }
  }

  function sendFile(request: IncomingMessage, response: ServerResponse): void {
    const { method, url = "" } = request;
    if (method !== "GET" && method !== "HEAD") return sendRefusal(request, response, READ_ONLY);
    const name = url.slice(BASE.length).replace(/\?.*$/s, "") || "index.html";
    const file = pageFiles(name);
    if (!file) return sendRefusal(request, response, Object.keys(files).length === 0 ? NOT_BUILT : NO_FILE);
    const policy = { "Content-Security-Policy": POLICY };
    file.then((read) => sendPageFile(request, response, read, name === "index.html" ? policy : {})).catch((error) => {
      log("error", "Cannot read a file of the dashboard", errorFields(error));
      sendRefusal(request, response, FAILED);
    });
  }

  function sendSettings(request: IncomingMessage, response: ServerResponse): void {
    // If the page sends no token but the request has one, a proxy in front has signed the user in.
    const isSignedIn = TOKEN.test(request.headers.authorization ?? "");
    const body = JSON.stringify({ ...options.settings, isSignedIn });
    response.writeHead(200, { ...API_ANSWER_HEADERS, "Content-Type": "application/json" }).end(body);
  }

  return {
    owns(request) {
      const { url = "", headers } = request;
      if (!url.startsWith(BASE) || headers["x-sandbox-id"] !== undefined) return false;
      return domain === undefined || targetsFromHost(hostOf(request), domain) === undefined;
    },
    answer(request, response) {
      const { url = "", method } = request;
      if (url.startsWith(API)) void passToAPI(request, response);
      else if (url === SETTINGS && method === "GET") sendSettings(request, response);
      else sendFile(request, response);
    },
    upgrade: tunnel.open,
    drain() {
      isDraining = true;
      // The tunnel first: pages must send their next requests elsewhere before they learn that some have ended.
      tunnel.drain();
      endless.forEach(cutOff);
    },
  };
}

/** Query parameters that make an answer endless, or dependent on an earlier one. */
const STREAM_PARAMETERS = [
  "watch",
  "follow",
  "resourceVersion",
  "resourceVersionMatch",
  "sendInitialEvents",
  "allowWatchBookmarks",
];

/**
 * Checks whether the user may still see a watch or log, by requesting as little of it as possible.
 *
 * @returns a refusal if the API server no longer allows it, otherwise another object
 */
async function checkAgain(apiProxy: APIProxy, path: string, token: string, signal: AbortSignal): Promise<object> {
  const [name = "", query = ""] = path.split("?", 2);
  const parameters = new URLSearchParams(query);
  for (const each of STREAM_PARAMETERS) parameters.delete(each);
  for (const [each, most] of [["limit", "1"], ["tailLines", "1"], ["limitBytes", "1"]] as const) {
    if (name.endsWith("/log") !== (each === "limit")) parameters.set(each, most);
  }
  const answer = await apiProxy({ method: "GET", path: `${name}?${parameters}`, token, body: undefined, signal });
  await answer.text();
  return answer.status === 401 || answer.status === 403 ? unauthorized(token) : {};
}

/** Returns the whole body, or a refusal. @throws {Error} if it does not arrive in time */
async function bodyOf(request: IncomingMessage, release: ReturnType<ConcurrencyLimit>): Promise<string | Refusal> {
  if (release === undefined) return TOO_MANY;
  const late = setTimeout(() => endRequest(request), BODY_MS);
  try {
    const body = createByteBuffer();
    // A client that sends too much gets an answer, so the request must not be destroyed when reading stops.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      if (body.size() + chunk.byteLength > MAX_BODY) return TOO_LONG;
      body.add(chunk);
    }
    if (!isWhole(request)) throw new Error("Cannot read a body: it is not whole");
    return body.takeText();
  } finally {
    clearTimeout(late);
    release();
  }
}

/** Finds the output of `npm run build`: next to the bundle, or in the source folder. */
function dashboardFiles(): PageFiles {
  const folders = ["./dashboard/", "../../dashboard/dist/"].map((path) => new URL(path, import.meta.url));
  for (const folder of folders) {
    if (!existsSync(new URL("index.html", folder))) continue;
    const names = ["index.html", ...readdirSync(new URL("assets/", folder)).map((name) => `assets/${name}`)];
    return Object.fromEntries(names.map((name) => [name, new URL(name, folder)]));
  }
  return {};
}

const NAME = "[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?";
const AGENTS = "/apis/agents\\.x-k8s\\.io/v1beta1";
const EXTENSIONS = "/apis/extensions\\.agents\\.x-k8s\\.io/v1beta1";

/** Paths of a collection or one of its objects, in one namespace or in all. */
function collectionOrObject(base: string, resources: string): RegExp {
  return new RegExp(`^${base}(?:/namespaces/${NAME})?/(?:${resources})(?:/${NAME})?$`);
}
function collection(base: string, resources: string): RegExp {
  return new RegExp(`^${base}/namespaces/${NAME}/(?:${resources})$`);
}
function object(base: string, resources: string): RegExp {
  return new RegExp(`^${base}/namespaces/${NAME}/(?:${resources})/${NAME}$`);
}

const SANDBOX_KINDS = "sandboxclaims|sandboxwarmpools|sandboxtemplates";
const ALLOWED: Record<string, RegExp[]> = {
  GET: [
    collectionOrObject(AGENTS, "sandboxes"),
    collectionOrObject(EXTENSIONS, SANDBOX_KINDS),
    // Read by `why`. Secrets and ConfigMaps are not on the list. For a project's API keys, see apikeys.ts.
    collectionOrObject("/api/v1", "pods|events|persistentvolumeclaims|resourcequotas|services"),
    collectionOrObject("/apis/coordination\\.k8s\\.io/v1", "leases"),
    new RegExp(`^/api/v1/(?:nodes|namespaces)(?:/${NAME})?$`),
    new RegExp(`^/apis/storage\\.k8s\\.io/v1/storageclasses(?:/${NAME})?$`),
    new RegExp(`^/api/v1/namespaces/${NAME}/pods/${NAME}/log$`),
    // Whether the cluster has metrics, and what one Pod uses.
    /^\/apis$/,
    new RegExp(`^/apis/metrics\\.k8s\\.io/v1beta1/namespaces/${NAME}/pods/${NAME}$`),
  ],
  POST: [
    collection(AGENTS, "sandboxes"),
    collection(EXTENSIONS, "sandboxclaims|sandboxwarmpools"),
    // The page shows who has signed in.
    /^\/apis\/authentication\.k8s\.io\/v1\/selfsubjectreviews$/,
  ],
  PATCH: [object(AGENTS, "sandboxes"), object(EXTENSIONS, "sandboxclaims|sandboxwarmpools")],
  DELETE: [object(AGENTS, "sandboxes"), object(EXTENSIONS, "sandboxclaims")],
};

/**
 * Tells whether a request is on the list.
 *
 * @param path with its query; nothing is decoded, so that an encoded path cannot avoid the check
 */
export function isAllowed(method: string, path: string): boolean {
  if (isForKeys(method, path)) return true;
  const name = path.replace(/\?.*$/s, "");
  return Object.hasOwn(ALLOWED, method) && (ALLOWED[method] ?? []).some((pattern) => pattern.test(name));
}
