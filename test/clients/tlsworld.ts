/**
 * E2B's API, the router with TLS and a wildcard certificate, and a runtime, as E2B's clients find them by host names. The
 * cluster is in memory.
 * @module
 */
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { createServer as createTLSServer } from "node:tls";
import { onTestFinished } from "vitest";
import type { Api } from "../../packages/kube/api.ts";
import { variable } from "../../packages/process/runprocess.ts";
import { assembleRouter } from "../../packages/router/assemble.ts";
import { readOptions } from "../../packages/router/options.ts";
import { listen } from "../../packages/router/server.ts";
import { readOptions as readRuntimeOptions } from "../../packages/runtime/options.ts";
import { startRuntime } from "../../packages/runtime/start.ts";
import { SECRET, startE2B } from "../e2b/api.ts";
import { underRole } from "../rights.ts";
import { makeWildcard } from "../router/certificate.ts";
import { makeTempFolder, useHome } from "../tempfolder.ts";

const DOMAIN = "sandboxes.example";

/** What clients need to know. */
export interface TLSWorld {
  domain: string;
  apiKey: string;
  /** URL of E2B's API without TLS. */
  apiUrl: string;
  /** Port of the router on loopback. */
  port: number;
  /** URL of the router without TLS, for clients that name a sandbox by headers. */
  url: string;
  /** URL of an HTTP proxy, which plays the DNS: it connects each host of the domain with the server on loopback. */
  proxy: string;
  /** Variables with which a program accepts the certificate. */
  env: Record<string, string | undefined>;
  /** Folder that the runtime has as its home directory. */
  home: string;
  /** The requests that the router got: version of HTTP, port of the sandbox, and path. */
  seen: { version: string; port: string; path: string }[];
}

/** Starts all of it; it stops when the test ends. */
export async function startTLSWorld(): Promise<TLSWorld> {
  const [folder, home] = [makeTempFolder(), makeTempFolder()];
  const wildcard = makeWildcard(DOMAIN);
  const [secretFile, caFile] = [join(folder, "secret"), join(folder, "ca.pem")];
  writeFileSync(secretFile, SECRET);
  writeFileSync(caFile, wildcard.ca);
  const ip = await startRuntimeAt(home);
  const { cluster, apiUrl, options: { apiKey } } = await startE2B();
  const ending = new AbortController();
  const settings = readOptions(["--authz-mode", "allow-all", "--allow-loopback-pod-ip", "--domain", DOMAIN])!;
  const router = assembleRouter(
    underRole(withAddress(cluster.api, ip), "router"),
    { ...settings, e2bSecretFile: secretFile },
    { log: () => {}, write: () => {} },
    ending.signal,
  );
  await router.ready;
  const seen: TLSWorld["seen"] = [];
  const { request: handle, upgrade } = router.handler;
  const request: typeof handle = (incoming, ...rest) => {
    seen.push(seenOf(incoming));
    handle(incoming, ...rest);
  };
  const server = await listen({ request, upgrade }, {
    host: "127.0.0.1",
    port: 0,
    graceMs: 0,
    h2c: false,
    tls: wildcard,
  });
  const plain = await listen({ request, upgrade }, { host: "127.0.0.1", port: 0, graceMs: 0, h2c: false });
  onTestFinished(async () => {
    ending.abort();
    router.close();
    await Promise.all([server.stop(), plain.stop()]);
  });
  const api = createTLSServer({ ...wildcard, ALPNProtocols: ["http/1.1"] }, (socket) => {
    joined(socket, connect(Number(new URL(apiUrl).port), "127.0.0.1"));
  });
  const apiPort = await listening(api);
  const names = createServer();
  names.on("connect", ({ url = "" }: IncomingMessage, socket: Socket) => {
    const other = connect(url.startsWith("api.") ? apiPort : server.port, "127.0.0.1");
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    joined(socket, other);
  });
  const proxy = `http://127.0.0.1:${await listening(names)}`;
  const env = { ...process.env, SSL_CERT_FILE: caFile, NODE_EXTRA_CA_CERTS: caFile };
  const url = `http://127.0.0.1:${plain.port}`;
  return { domain: DOMAIN, apiKey, apiUrl, port: server.port, url, proxy, env, home, seen };
}

/** Starts a runtime at an address of loopback that no other test has, because E2B's ports are always the same. */
async function startRuntimeAt(home: string): Promise<string> {
  const ip = `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`;
  useHome(home);
  const args = ["--host", ip, "--port", "0", "--rest-port", "0", "--grpc-port", "0", "--workdir", home];
  const runtime = await startRuntime(readRuntimeOptions([...args, "--shutdown-timeout", "5s"], variable)!, () => {});
  onTestFinished(() => runtime.stop());
  return ip;
}

/** All Pods have this address. */
function withAddress(api: Api, ip: string): Api {
  const moved = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value ?? null).replaceAll(/"10\.0\.\d+\.\d+"/g, `"${ip}"`));
  return {
    ...api,
    send: async (request) => {
      const { status, body } = await api.send(request);
      return { status, body: moved(body) };
    },
    watch: async (...call) => {
      const { events, ...answer } = await api.watch(...call);
      async function* movedEvents() {
        for await (const event of events) yield moved(event);
      }
      return { ...answer, events: movedEvents() };
    },
  };
}

function seenOf({ httpVersion: version, headers, url = "" }: IncomingMessage): TLSWorld["seen"][number] {
  const host = `${headers[":authority"] ?? headers.host}`;
  return { version, port: host.split("-")[0] ?? "", path: url.replace(/\?.*/, "") };
}

function joined(one: Socket, other: Socket): void {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy()).once("close", () => to.destroy());
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
