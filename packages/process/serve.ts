/** Serves an app over HTTP on Deno or Node, and stops gracefully. @module */
import type { Server as HttpsServer } from "node:https";
import { createLog, type Log } from "./log.ts";

/** An app with a web-standard `fetch`, such as a Hono app. */
interface App {
  fetch(request: Request): Response | Promise<Response>;
}

/** Where to listen and how to stop; `port` 0 chooses a free one. */
interface ServeOptions {
  port: number;
  /** @default "0.0.0.0" */
  host?: string;
  /** Certificate and key, PEM. @default none: HTTP */
  tls?: { cert: string; key: string };
  log?: Log;
  /** How long a stop waits for running requests, in milliseconds. @default 10000 */
  graceMs?: number;
  /** Called when a stop begins, while requests are still running. Make `/readyz` fail here. */
  onStopping?: () => void;
}

/** A listening server. `stop` waits up to `graceMs` for running requests, and then closes. */
export interface Server {
  host: string;
  port: number;
  /** Changes the certificate for new connections; existing connections remain. Only servers with TLS have this method. */
  renew?(tls: { cert: string; key: string }): void;
  stop(): Promise<void>;
}

/** Listens until `stop` is called. @throws if the port is in use */
export async function serve(app: App, options: ServeOptions): Promise<Server> {
  const { host = "0.0.0.0", graceMs = 10_000, log = createLog(), tls } = options;
  const counted = countRequests(app);
  // Deno's own server cannot change its certificate, but its node:https can.
  const listener = typeof Deno === "undefined" || tls
    ? await onNode(counted, { host, port: options.port, tls })
    : onDeno(Deno, counted, { host, port: options.port });
  log("info", "Listening", { host, port: listener.port });
  let stopped: Promise<void> | undefined;
  const stop = () =>
    stopped ??= (async () => {
      options.onStopping?.();
      await Promise.race([counted.idle(), sleep(graceMs)]);
      await listener.close();
      log("info", "Stopped", { port: listener.port });
    })();
  const { renew } = listener;
  return { host, port: listener.port, stop, ...renew && { renew } };
}

/**
 * Counts requests. Until a stop has finished, new requests are still answered, because a cluster takes a moment to send
 * them elsewhere.
 */
function countRequests(app: App): App & { idle(): Promise<void> } {
  const running = countRunning();
  return {
    fetch: async (request) => {
      running.begin();
      try {
        return await app.fetch(request);
      } finally {
        running.end();
      }
    },
    // Wait one macrotask longer, so that the last answers are sent.
    idle: () => running.idle().then(() => sleep(0)),
  };
}

interface Listener {
  port: number;
  renew?: NonNullable<Server["renew"]>;
  /** Accepts no more connections and closes the existing ones. */
  close(): Promise<void>;
}

/** Where to listen, and with which certificate. */
interface Place {
  host: string;
  port: number;
  tls?: { cert: string; key: string } | undefined;
}

async function onNode(app: App, { host, port, tls }: Place): Promise<Listener> {
  const { createAdaptorServer } = await import("@hono/node-server");
  const { KEEP_ALIVE_MS, LAST_BYTES_MS, listenOn } = await import("./connections.ts");
  const secure = tls && { createServer: (await import("node:https")).createServer, serverOptions: tls };
  const server = createAdaptorServer({ fetch: (request) => app.fetch(request), ...secure });
  if (!("closeIdleConnections" in server)) throw new TypeError("Cannot serve: the adaptor gave no HTTP/1.1 server");
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const taken = await listenOn(server, host, port);
  return {
    port: taken,
    ...(tls && { renew: (next) => (server as HttpsServer).setSecureContext(next) }),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // An answer may still be on its way: idle connections are closed first, the others only after a while.
      const sweep = setInterval(() => server.closeIdleConnections(), 10);
      const cut = setTimeout(() => server.closeAllConnections(), LAST_BYTES_MS);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

function onDeno(deno: DenoRuntime, app: App, { host: hostname, port }: Place): Listener {
  const stopNow = new AbortController();
  const options = { port, hostname, signal: stopNow.signal, onListen: () => {} };
  const server = deno.serve(options, (request) => app.fetch(request));
  return {
    port: server.addr.port,
    close: () => {
      stopNow.abort();
      return server.finished;
    },
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The parts of Deno that this file uses, declared here because the type checker for Node does not know them. */
interface DenoServer {
  addr: { port: number };
  finished: Promise<void>;
}
interface DenoRuntime {
  serve(
    options: {
      port: number;
      hostname: string;
      signal: AbortSignal;
      onListen: () => void;
      cert?: string;
      key?: string;
    },
    handler: (request: Request) => Response | Promise<Response>,
  ): DenoServer;
}
declare const Deno: DenoRuntime | undefined;

/** A count of running operations. */
interface Running {
  begin(): void;
  end(): void;
  /** Resolves when no operation is running. */
  idle(): Promise<void>;
}

/** Creates a count of 0. */
export function countRunning(): Running {
  let running = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: () => {
      running++;
    },
    end: () => {
      if (--running > 0) return;
      for (const tell of waiting) tell();
      waiting = [];
    },
    idle: () => new Promise<void>((resolve) => running === 0 ? resolve() : waiting.push(resolve)),
  };
}
