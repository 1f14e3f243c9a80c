/** Connections to sandboxes that speak HTTP/2 without TLS: one for each port, kept for reuse. @module */
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import type { NetConnectOpts, Socket } from "node:net";
import { isDialFailure } from "./failure.ts";

/** Ends a connection whose other side does not speak HTTP/2. No part of a request has been sent. */
export const NOT_HTTP2 = new Error("it does not speak HTTP/2");

/** Connections by address and port. */
export interface Http2Dialler {
  /** @throws {Error} if the connection fails, or {@link NOT_HTTP2} */
  session(address: string, port: number): Promise<ClientHttp2Session>;
  /** Closes connections to addresses that no longer belong to a Pod. */
  forget(ips: readonly string[]): void;
  close(): void;
}

/** How long a connection without streams is kept, in milliseconds. */
const IDLE_MS = 30_000;
/** Interval of pings while streams are open, in milliseconds. A ping must be answered before the next one. */
const PING_MS = 30_000;
const SETTINGS = { enablePush: false, initialWindowSize: 1024 * 1024 };

/** Makes the dialler; `open` opens a connection, and `waitMs` is how long its first frame may take, in milliseconds. */
export function createHttp2Dialler(open: (options: NetConnectOpts) => Socket, waitMs: number): Http2Dialler {
  const sessions = new Map<string, Promise<ClientHttp2Session>>();

  function begin(key: string, address: string, port: number): Promise<ClientHttp2Session> {
    const session = connectHttp2("http://sandbox", {
      createConnection: () => open({ host: address, port }),
      settings: SETTINGS,
      maxSessionMemory: 100,
    });
    const forget = () => sessions.get(key) === beginning && sessions.delete(key);
    session.on("error", () => {}).once("close", forget).once("goaway", forget);
    keep(session);
    const beginning = settled(session, waitMs);
    beginning.catch(forget);
    return beginning;
  }

  return {
    session(address, port) {
      const key = `${address} ${port}`;
      const known = sessions.get(key) ?? begin(key, address, port);
      sessions.set(key, known);
      return known;
    },
    forget(ips) {
      for (const [key, session] of sessions) {
        if (ips.some((ip) => key.startsWith(`${ip} `))) session.then((each) => each.destroy(), () => {});
      }
    },
    close() {
      for (const session of sessions.values()) session.then((each) => each.destroy(), () => {});
    },
  };
}

/** Waits for the first frame (SETTINGS), which every HTTP/2 server sends. */
function settled(session: ClientHttp2Session, waitMs: number): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(timer);
      session.destroy();
      reject(isDialFailure(error) ? error : NOT_HTTP2);
    };
    const closed = () => fail(NOT_HTTP2);
    const timer = setTimeout(closed, waitMs);
    session.once("error", fail).once("close", closed).once("remoteSettings", () => {
      clearTimeout(timer);
      session.off("error", fail).off("close", closed);
      resolve(session);
    });
  });
}

/** Closes a session that is unused, or whose other side no longer answers pings. */
function keep(session: ClientHttp2Session): void {
  let streams = 0;
  let isAnswered = true;
  let timer: NodeJS.Timeout | undefined;
  const { request } = session;
  const ping = () => {
    if (!isAnswered) return session.destroy();
    isAnswered = false;
    session.ping((error) => isAnswered = error === null);
  };
  session.request = (...args) => {
    const stream = request.apply(session, args);
    if (streams++ === 0) timer = setInterval(ping, PING_MS);
    stream.once("close", () => {
      if (--streams > 0) return;
      clearInterval(timer);
      isAnswered = true;
      session.setTimeout(IDLE_MS);
    });
    return stream;
  };
  session.once("close", () => clearInterval(timer));
  session.setTimeout(IDLE_MS, () => streams === 0 && session.close());
}
