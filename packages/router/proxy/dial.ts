/** Connections to sandboxes: kept while they are of use, given up when nobody answers, tried again where none came about. @module */
import type { EventEmitter } from "node:events";
import { Agent } from "node:http";
import { createConnection, type NetConnectOpts, type Socket } from "node:net";
import type { Target } from "../destination.ts";
import type { Refusal } from "../refusal.ts";
import { createHttp2Dialler, type Http2Dialler } from "./http2dial.ts";
import { outliveWrites } from "./outlive.ts";
import type { ProxySettings } from "./settings.ts";

/** Servers close idle connections after 5 s at the earliest (uvicorn, Node): ours go first. */
const KEEP_MS = 4000;
const KEPT_PER_SANDBOX = 64;
const NEVER_DIALLED = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "EADDRNOTAVAIL"]);

/** Kept connections to all sandboxes. */
export interface Dialler {
  agent: Agent;
  /** To those that speak HTTP/2. */
  http2: Http2Dialler;
  /** Opens a connection for an upgrade; it is kept by nobody. */
  connect(options: NetConnectOpts): Socket;
  /** Drops kept connections to addresses that have become nobody's. */
  forget(ips: readonly string[]): void;
  close(): void;
}

/** Makes a dialler; no connection is tried for longer than `dialMs` milliseconds. */
export function createDialler(dialMs: number): Dialler {
  const connect = (options: NetConnectOpts) => {
    const socket = createConnection(options);
    const timer = setTimeout(() => socket.destroy(dialTimeout(dialMs)), dialMs);
    const stop = () => clearTimeout(timer);
    socket.once("connect", stop).once("close", stop);
    return socket;
  };
  const agent = new Agent({ keepAlive: true, timeout: KEEP_MS, maxFreeSockets: KEPT_PER_SANDBOX, scheduling: "lifo" });
  agent.createConnection = (options) => outliveWrites(connect(options as NetConnectOpts));
  const http2 = createHttp2Dialler(connect, dialMs);
  return {
    agent,
    connect,
    http2,
    forget(ips) {
      http2.forget(ips);
      for (const [key, sockets] of Object.entries(agent.freeSockets)) {
        if (ips.some((ip) => key.startsWith(`${ip}:`))) sockets?.forEach((socket) => socket.destroy());
      }
    },
    close() {
      agent.destroy();
      http2.close();
    },
  };
}

/** Tells whether an error means that no connection came about, so that nothing was sent. */
export function isDialFailure(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "connect" || code === "EDIALTIMEOUT" || (code !== undefined && NEVER_DIALLED.has(code));
}

function dialTimeout(ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms / 1000} s`), { code: "EDIALTIMEOUT" });
}

/** A request that may be tried again. */
export interface Retried {
  target: Target;
  settings: ProxySettings;
  tries: number;
  /** Nobody waits for it any more. */
  isOver: boolean;
  locate(signal: AbortSignal): Promise<string | Refusal>;
  mayYetListen(): boolean;
}

/** Tells whether to try again where no connection came about: so often, or while an app in a sandbox that has just woken may yet listen. */
export function mayTryAgain(
  { tries, settings, mayYetListen }: Pick<Retried, "tries" | "settings" | "mayYetListen">,
  error: Error,
): boolean {
  if (tries < settings.retries) return true;
  return (error as NodeJS.ErrnoException).code === "ECONNREFUSED" && mayYetListen();
}

/** Returns the wait before another try, in milliseconds: twice as long each time, up to the longest. */
export function delayOf({ firstDelayMs, longestDelayMs }: ProxySettings, tries: number): number {
  return Math.min(firstDelayMs * 2 ** tries, longestDelayMs);
}

/**
 * Finds the address anew after `delayMs` and goes on with it, or with why there is none.
 *
 * @param client closes when it goes: nothing is waited for any more
 */
export function retry<State extends Retried>(
  state: State,
  client: Pick<EventEmitter, "once" | "off">,
  delayMs: number,
  next: { attempt(state: State, address: string): void; refuse(state: State, refusal: Refusal): void },
): void {
  state.tries++;
  state.settings.onRetry(state.target);
  setTimeout(async () => {
    if (state.isOver) return;
    const gone = new AbortController();
    const abort = () => gone.abort();
    client.once("close", abort);
    const place = await state.locate(gone.signal);
    client.off("close", abort);
    if (state.isOver) return;
    if (typeof place === "string") next.attempt(state, place);
    else next.refuse(state, place);
  }, delayMs);
}
