/**
 * A proxy on this machine in front of a router. It adds the user's token to the requests of one browser, so the dashboard
 * asks for no token, and the browser never has it.
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Agent, createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { Agent as TLSAgent } from "node:https";
import type { Socket } from "node:net";
import process from "node:process";
import { createProxyServer, type ProxyServerOptions } from "httpxy";
import { listenOn } from "../../process/connections.ts";
import { isCrossOrigin } from "../../router/access/crossorigin.ts";

/** The two ends of a connection, as the side that listens sees them. */
interface ConnectionPorts {
  localPort?: number | undefined;
  remotePort?: number | undefined;
}

/** Where to listen, and what each request to the router needs. */
export interface SignInProxyOptions {
  /** Port to listen on, on 127.0.0.1; 0: a free one. */
  port: number;
  /** Returns the router's URL, without a slash at its end. Called for each request. */
  router(): Promise<string>;
  /** Returns the user's token. Called for each request. */
  token(): Promise<string>;
  fetch: typeof fetch;
  /** Returns whether a program of this user has opened the connection. @default as Linux says it; elsewhere, true */
  isOwnConnection?(ports: ConnectionPorts): Promise<boolean>;
  /** Called with the reason why a request could not be passed on. */
  onFailure(reason: string): void;
}

/** A proxy that runs. */
export interface SignInProxy {
  /** URL for the user's browser. The first browser that opens it gets a cookie, and learns the path. */
  url: string;
  /** Stops listening, and closes all connections. */
  close(): Promise<void>;
}

/** Where the router serves the dashboard. */
const PAGE = "/.hookbox/";
const SETTINGS = `${PAGE}settings.json`;
const COOKIE = "hookbox-dashboard";

/** An answer of the proxy itself. */
interface OwnAnswer {
  status: number;
  text: string;
  headers?: Record<string, string>;
}

const AGAIN = "Run hookbox dashboard again, and open the URL that it prints.";
const FOREIGN: OwnAnswer = { status: 403, text: "A page of another origin may not use the dashboard." };
const NOT_SIGNED_IN: OwnAnswer = {
  status: 403,
  text: `Only the browser that opened the URL first can use this dashboard. ${AGAIN}`,
};
const OTHER_USER: OwnAnswer = {
  status: 403,
  text: "A program of another user of this machine has sent this request. Open the URL as the user who runs hookbox.",
};
const NOT_PASSED_ON: OwnAnswer = { status: 404, text: `Only ${PAGE} is passed on to the router.` };
const OWN_HEADERS = {
  "Content-Type": "text/plain; charset=utf-8",
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** Starts the proxy. @throws {Error} with code EADDRINUSE if the port is in use */
export async function startSignInProxy(options: SignInProxyOptions): Promise<SignInProxy> {
  const { router, token, onFailure, isOwnConnection: isOwn = isOwnConnection } = options;
  const [key, pass, folder] = [randomName(), randomName(), randomName()];
  // All ports of a host have the same cookies: a page on another port gets none of a path that it does not know.
  const prefix = `/${folder}`;
  const agents = { "http:": new Agent({ keepAlive: true }), "https:": new TLSAgent({ keepAlive: true }) };
  const proxy = createProxyServer();
  // The router's page has no cookies, and none of a sandbox may stay in this origin.
  proxy.on("proxyRes", ({ headers }) => void delete headers["set-cookie"]);
  let isKeyUsed = false;

  /** Decides about a request; undefined: it is passed on, with the path that the router knows. */
  async function decide(request: IncomingMessage): Promise<OwnAnswer | undefined> {
    const { headers, method, url = "" } = request;
    const { host = "", cookie = "" } = headers;
    // Another name may lead to this address because an attacker's DNS server says so.
    if (!hosts.includes(host)) return { status: 403, text: `The dashboard is at http://${hosts[0]}, not at ${host}.` };
    if (isCrossOrigin(request, { authzCookieAllowedOrigins: [] })) return FOREIGN;
    const { pathname, searchParams } = addressOf(url);
    const given = pathname === "/" && method === "GET" ? searchParams.get("key") : null;
    if (given !== null && isSame(given, key)) {
      // Other users see the URL in the arguments of the program that opens the browser.
      const { localPort, remotePort } = request.socket;
      if (!await isOwn({ localPort, remotePort })) return OTHER_USER;
      if (isKeyUsed) return leadTo(prefix + PAGE);
      isKeyUsed = true;
      return leadTo(prefix + PAGE, `${COOKIE}=${pass}; Path=${prefix}/; HttpOnly; SameSite=Strict`);
    }
    // A page on another port can add a cookie of the same name.
    const isSignedIn = cookie.split(/; */).some((one) => isSame(one, `${COOKIE}=${pass}`));
    if (!isSignedIn || !isSame(pathname.split("/")[1] ?? "", folder)) return NOT_SIGNED_IN;
    if (![url, pathname].every((path) => path.startsWith(prefix + PAGE))) return NOT_PASSED_ON;
    request.url = url.slice(prefix.length);
    return undefined;
  }

  /** Prepares a request for the router, and returns where to send it. */
  async function wayFor(request: IncomingMessage): Promise<ProxyServerOptions> {
    const [url, bearer] = await Promise.all([router(), token()]);
    const { headers } = request;
    const target = new URL(url);
    for (const name of ["authorization", "cookie", "referer", "x-sandbox-id"]) delete headers[name];
    // It was that of this proxy, and the router accepts only its own.
    if (headers.origin !== undefined) headers.origin = target.origin;
    const agent = agents[target.protocol as keyof typeof agents];
    return { target, agent, changeOrigin: true, headers: { authorization: `Bearer ${bearer}` } };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const own = await decide(request);
    if (own) return send(response, own);
    if (addressOf(request.url).pathname === SETTINGS) {
      const { status, settings } = await fetchSettings(options.fetch, await router(), await token());
      // Sandboxes have hosts of their own below the router's domain. Their links would lead to the port of this proxy.
      const text = JSON.stringify({ ...settings, domain: undefined, previews: undefined });
      return send(response, { status, text, headers: { "Content-Type": "application/json" } });
    }
    try {
      await proxy.web(request, response, await wayFor(request));
    } catch (error) {
      // The connection that was kept open, or the router's Pod, may have gone.
      if (request.method !== "GET" || response.headersSent) throw error;
      await proxy.web(request, response, await wayFor(request));
    }
  }

  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (response.headersSent) response.destroy();
      else send(response, failure(error));
    });
  });
  server.on("connection", (socket: Socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Uint8Array) => {
    socket.on("error", () => socket.destroy());
    const passOn = async () => {
      const own = await decide(request);
      if (own) return sendRaw(socket, own);
      const way = await wayFor(request);
      await proxy.ws(request, socket, way, head).catch(() => socket.destroy());
    };
    passOn().catch((error) => sendRaw(socket, failure(error)));
  });
  const failure = (error: Error): OwnAnswer => {
    const reason = error.message.startsWith("Cannot ") ? error.message : `Cannot reach the router: ${error.message}`;
    onFailure(reason);
    return { status: 502, text: reason };
  };

  const port = await listenOn(server, "127.0.0.1", options.port);
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  return {
    url: `http://127.0.0.1:${port}/?key=${key}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      for (const agent of Object.values(agents)) agent.destroy();
      await closed;
    },
  };
}

/** Reads the settings of the dashboard; `settings` is empty unless the answer is a success. */
export async function fetchSettings(
  fetch: typeof globalThis.fetch,
  router: string,
  token: string,
  signal?: AbortSignal,
): Promise<{ status: number; settings: { isSignedIn?: boolean } }> {
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch(router + SETTINGS, { headers, redirect: "manual", signal: signal ?? null });
  const settings = answer.ok ? await answer.json() : {};
  return { status: answer.status, settings };
}

/** A page that opens the dashboard: after a link of another site, browsers send no cookie with a redirect. */
function leadTo(path: string, cookie?: string): OwnAnswer {
  const script = `location.replace("${path}" + location.hash)`;
  return {
    status: 200,
    text: `<!doctype html><meta charset="utf-8"><title>hookbox</title><script>${script}</script>` +
      "<noscript>The dashboard needs JavaScript.</noscript>",
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
        `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`,
      ...cookie === undefined ? {} : { "Set-Cookie": cookie },
    },
  };
}

/**
 * Returns whether a program of this process's user, or of root, has opened the connection. True if nobody can tell:
 * outside Linux, or if this process is root's.
 */
export async function isOwnConnection(ports: ConnectionPorts): Promise<boolean> {
  const uid = process.getuid?.() ?? 0;
  if (uid === 0) return true;
  // A socket of IPv6 can connect to an address of IPv4.
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFile(path, "latin1").catch(() => ""));
  return isOfUser((await Promise.all(tables)).join("\n"), ports, uid);
}

/** Columns of a row of /proc/net/tcp: ports are hexadecimal; a closed socket has inode 0, and no user. */
const ROW = /^ *\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:([\dA-F]{4}) (?:\S+ +){4}(\d+) +\d+ +(\d+)/gm;

/** Decides by the text of /proc/net/tcp and tcp6. Pure. */
export function isOfUser(table: string, { localPort, remotePort }: ConnectionPorts, uid: number): boolean {
  const rows = [...table.matchAll(ROW)].map(([, from = "", to = "", owner, inode]) => ({
    from: parseInt(from, 16),
    to: parseInt(to, 16),
    isOwn: inode !== "0" && (Number(owner) === uid || owner === "0"),
  }));
  if (!rows.some(({ from }) => from === localPort)) return true;
  const clients = rows.filter(({ from, to }) => from === remotePort && to === localPort);
  return clients.length > 0 && clients.every(({ isOwn }) => isOwn);
}

function randomName(): string {
  return randomBytes(32).toString("base64url");
}

/** Returns path and query of a request; an invalid path becomes `/`. */
function addressOf(path = "/"): URL {
  return URL.parse(`http://localhost${path}`) ?? new URL("http://localhost/");
}

/** Compares in a time that does not depend on how much is equal. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function send(response: ServerResponse, { status, text, headers }: OwnAnswer): void {
  response.writeHead(status, { ...OWN_HEADERS, ...headers }).end(text);
}

function sendRaw(socket: Socket, { status, text, headers }: OwnAnswer): void {
  const all = { ...OWN_HEADERS, ...headers, "Content-Length": Buffer.byteLength(text), Connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on("error", () => {}).end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${text}`);
}
