/** Routers to be tried, one for each way to let clients in, before a sandbox that answers all alike. @module */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { join } from "node:path";
import type { ApiRequest } from "../../packages/kube/api.ts";
import type { Log } from "../../packages/process/log.ts";
import { signToken } from "../../packages/api/router/scopedtoken.ts";
import { assembleRouter } from "../../packages/router/assemble.ts";
import { readOptions } from "../../packages/router/options.ts";
import { listen } from "../../packages/router/server.ts";
import { createFakeApi, type FakeApi } from "../kube/fakeapi.ts";
import { PODS, putPod, putReady, putSandbox } from "../router/stage.ts";
import { CANARY } from "./secrets.ts";

/** A router that listens. */
export interface Tried {
  port: number;
  /** The secret that gives access to it. */
  token: string;
  /** Whether the token is the router's own business, and no sandbox sees it. */
  keepsToken: boolean;
  stop(): Promise<void>;
}

/** All of them, with what they and the sandbox have seen. */
export interface Routers {
  routers: Tried[];
  /** Port of the sandbox. */
  backend: number;
  /** Of all their logs; reading a line removes it. */
  lines: string[];
  /** Heads of the requests that have reached the sandbox; likewise. */
  seen: string[];
  stop(): Promise<void>;
}

/** Starts what plays the sandbox, on an address; heads of requests go to `seen`. */
export type StartSandbox = (seen: string[], address: string) => Promise<{ port: number; stop(): Promise<void> }>;

/** Nothing else on this machine listens there. */
const ADDRESS = "127.0.0.77";
const SECRET = "0123456789abcdef0123456789abcdef";
const BROWSER = ["--authz-cookie-name", "pass", "--authz-cookie-query-param", "t"];
const FLAGS = [
  ...["--allow-loopback-pod-ip", "--path-routing-prefix", "/s", "--domain", "d.example", "--wake-timeout", "20ms"],
  ...["--upstream-max-retries", "0", "--proxy-timeout", "2s", "--response-header-timeout", "2s", "--no-idle"],
];

/** Starts them. @param folder where secrets may be written @param more flags for all of them */
export async function startRouters(
  folder: string,
  startSandbox: StartSandbox = startBackend,
  more: string[] = [],
): Promise<Routers> {
  const { lines, seen } = { lines: [] as string[], seen: [] as string[] };
  const backend = await startSandbox(seen, ADDRESS);
  const api = createFakeApi();
  fill(api);
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, SECRET);
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const scoped = await signToken(Buffer.from(SECRET), { ns: "team-a", name: "demo", exp });
  const scopedFlags = ["--authz-mode", "scoped-token", "--authz-scoped-token-secret-file", secretFile, ...BROWSER];
  const start = (token: string, h2c: boolean, ...flags: string[]) =>
    startRouter(api, lines, { token, h2c, flags: [...flags, ...more] });
  const routers = [
    await start(`${CANARY}-of-nobody`, false, "--authz-mode", "allow-all"),
    await start(scoped, true, ...scopedFlags),
    await start(`${CANARY}-of-ann`, false, "--authz-mode", "tokenreview", ...BROWSER),
    await start(`${CANARY}-of-eve`, true, "--authz-mode", "tokenreview", ...BROWSER),
  ];
  const stop = async () => {
    await Promise.all(routers.map((router) => router.stop()));
    api.endWatches();
    await backend.stop();
  };
  return { routers, backend: backend.port, lines, seen, stop };
}

/** A sandbox that is there, one that is asleep, one without a Pod. */
function fill(api: FakeApi): void {
  const at = { status: { podIPs: [{ ip: ADDRESS }] } };
  putReady(api);
  putPod(api, "demo", at);
  putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
  putSandbox(api, "gone");
  api.intercept = (request) => review(request) ?? (request.path.startsWith(PODS) ? undefined : keepAsleep(request));
}

/** Knows Ann, who may connect to demo. */
function review({ path, body }: ApiRequest) {
  if (!path.endsWith("reviews")) return undefined;
  const { spec } = body as { spec: { token?: string; resourceAttributes?: Record<string, string> } };
  const isAnn = spec.token === `${CANARY}-of-ann`;
  const status = path.endsWith("/tokenreviews")
    ? { authenticated: isAnn, user: isAnn ? { username: "ann" } : {} }
    : { allowed: spec.resourceAttributes?.["name"] === "demo" };
  return { status: 201, body: { status } };
}

/** Whatever wakes it, it sleeps on: the next request finds things as this one did. */
function keepAsleep({ method }: ApiRequest) {
  return method === "PATCH" ? { status: 200, body: {} } : undefined;
}

async function startRouter(
  api: FakeApi,
  lines: string[],
  { token, h2c, flags }: { token: string; h2c: boolean; flags: string[] },
): Promise<Tried> {
  const end = new AbortController();
  const log: Log = (...said) => lines.push(JSON.stringify(said));
  const settings = readOptions([...FLAGS, ...flags])!;
  const router = assembleRouter(api, settings, { log, write: (text) => lines.push(text) }, end.signal);
  await router.ready;
  const { port, stop } = await listen(router.handler, { host: "127.0.0.1", port: 0, graceMs: 0, h2c });
  return {
    port,
    token,
    keepsToken: !flags.includes("allow-all"),
    async stop() {
      end.abort();
      router.close();
      await stop();
    },
  };
}

async function startBackend(seen: string[], address: string) {
  const note = ({ url, rawHeaders }: IncomingMessage) => seen.push([url, ...rawHeaders].join("\n"));
  const server = createServer((request, response) => {
    note(request);
    request.resume().once("end", () => response.end("in")).on("error", () => {});
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  server.on("upgrade", (request, socket) => {
    note(request);
    socket.on("error", () => {});
    socket.end(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\nbye`,
    );
  });
  return await listening(server, address, sockets);
}

/** Has a server listen on a free port; its end takes the connections along that are open then. */
export async function listening(
  server: Server,
  address: string,
  sockets: ReadonlySet<Socket>,
): Promise<{ port: number; stop(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      sockets.forEach((socket) => socket.destroy());
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
