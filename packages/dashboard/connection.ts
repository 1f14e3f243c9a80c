/**
 * Sends all requests of the page over one WebSocket to the router: browsers allow only six HTTP/1.1 connections to a
 * host, over all tabs, and each watch, log and terminal needs one. If the WebSocket is blocked, uses `fetch`.
 * @module
 */
/// <reference lib="dom" />
import {
  type AnswerHead,
  CONNECTION_WINDOW,
  createSendWindow,
  decodeFrame,
  encodeFrame,
  type Frame,
  MOST_STREAMS,
  MOST_UNPROVEN_STREAMS,
  MULTIPLEX_PROTOCOL,
  provesToken,
} from "../api/router/multiplex.ts";
import { LOST, type OpenSocket, sendOver } from "./stream.ts";

/** State of the connection for the user. */
interface ConnectionState {
  /** When the router was last heard, if it cannot be reached now. */
  lostSince: Date | undefined;
  /** When the page tries again; undefined: it is trying, or need not. */
  retryAt: Date | undefined;
  /** True: the WebSocket cannot be opened, and each request uses a connection of its own. */
  isPlain: boolean;
}

/** The connection of a page to its router. */
export interface Connection {
  /**
   * Like the global `fetch`, for URLs of the router, without cookies and without following redirects. If the router
   * cannot be reached, a GET waits until it can be reached again; any other request fails.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  state(): ConnectionState;
  /** Calls the listener after each change of the state. @returns a function that ends this */
  subscribe(listener: () => void): () => void;
  /** Tries at once to reach the router again. */
  retry(): void;
  /** Closes the WebSocket, and with it all requests. The next request opens another one. */
  close(): void;
}

/** What the connection uses of the browser; tests replace it. Times in milliseconds. */
export interface ConnectionOptions {
  /** Address of the page's folder: `https://router.example/.hookbox/`. */
  page: string;
  /** Undefined: there are no WebSockets. */
  WebSocket: typeof WebSocket | undefined;
  fetch: typeof fetch;
  /** How often to check that the router still answers. @default 10_000 */
  pingMs?: number;
  /** How long the router may be silent after a ping. @default 15_000 */
  silenceMs?: number;
  /** How long opening the WebSocket may take. @default 8000 */
  openMs?: number;
  /** Longest wait between two attempts to reach the router; the first wait is a thirtieth of it. @default 30_000 */
  retryMs?: number;
  /** How long a WebSocket without requests stays open. @default 60_000 */
  idleMs?: number;
  /** How long to use `fetch` after the WebSocket could not be opened. @default 60_000 */
  plainMs?: number;
}

const UNREACHABLE = "The router cannot be reached";

/** Creates the connection. It is opened by the first request. */
export function createConnection(options: ConnectionOptions): Connection {
  const { page, pingMs = 10_000, silenceMs = 15_000, openMs = 8000, retryMs = 30_000 } = options;
  const { idleMs = 60_000, plainMs = 60_000 } = options;
  const { origin } = new URL(page);
  /** Takes new requests. */
  let current: OpenSocket | undefined;
  /** The current one, and those whose routers stop, as long as they have requests. */
  const sockets = new Set<OpenSocket>();
  let opening: Promise<OpenSocket> | undefined;
  let state: ConnectionState = { lostSince: undefined, retryAt: undefined, isPlain: false };
  let plainUntil = 0;
  let heardAt = Date.now();
  let failures = 0;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();
  /** Wakes requests that wait for a free stream, or for the router. */
  let waiting: (() => void)[] = [];

  function change(next: Partial<ConnectionState>): void {
    state = { ...state, ...next };
    for (const listener of listeners) listener();
  }

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const each of woken) each();
  }

  function reached(isPlain: boolean): void {
    failures = 0;
    clearTimeout(retryTimer);
    heardAt = Date.now();
    if (state.lostSince || state.isPlain !== isPlain) {
      change({ lostSince: undefined, retryAt: undefined, isPlain });
    }
    wake();
  }

  /** Plans the next attempt, after 1 s, 2 s, 4 s, … */
  function lost(): void {
    const most = Math.min(retryMs, (retryMs / 30) * 2 ** failures++);
    const ms = most * (0.75 + Math.random() / 4);
    clearTimeout(retryTimer);
    retryTimer = setTimeout(retry, ms);
    change({ lostSince: state.lostSince ?? new Date(heardAt), retryAt: new Date(Date.now() + ms) });
  }

  function retry(): void {
    clearTimeout(retryTimer);
    plainUntil = 0;
    if (state.lostSince === undefined || opening) return;
    change({ retryAt: undefined });
    // Requests that wait try again by themselves; without any, this finds out whether the router is back.
    open().then(() => reached(false), async () => {
      if (await answersFetch()) {
        plainUntil = Date.now() + plainMs;
        reached(true);
      } else lost();
    });
  }

  async function answersFetch(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(openMs);
      const answer = await options.fetch(new URL("settings.json", page), { signal, cache: "no-store" });
      await answer.body?.cancel();
      return answer.ok;
    } catch {
      return false;
    }
  }

  function open(): Promise<OpenSocket> {
    opening ??= connect().finally(() => opening = undefined);
    return opening;
  }

  function connect(): Promise<OpenSocket> {
    return new Promise((resolve, reject) => {
      if (!options.WebSocket) return reject(new TypeError(UNREACHABLE));
      const socket = new options.WebSocket(new URL("connection", page.replace(/^http/, "ws")), MULTIPLEX_PROTOCOL);
      socket.binaryType = "arraybuffer";
      const fail = () => {
        clearTimeout(late);
        reject(new TypeError(UNREACHABLE));
        socket.close();
      };
      const late = setTimeout(fail, openMs);
      socket.onclose = fail;
      socket.onopen = () => {
        clearTimeout(late);
        current = serve(socket);
        reached(false);
        resolve(current);
      };
    });
  }

  /** Handles the frames of a WebSocket until it closes. */
  function serve(socket: WebSocket): OpenSocket {
    const opened: OpenSocket = {
      socket,
      streams: new Map(),
      body: createSendWindow(CONNECTION_WINDOW),
      taken: 0,
      last: 0,
      isProven: false,
    };
    const { streams } = opened;
    sockets.add(opened);
    let pingedAt = 0;
    let idleSince = Date.now();
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      clearInterval(pulse);
      sockets.delete(opened);
      if (current === opened) current = undefined;
      const isUsed = streams.size > 0;
      for (const stream of [...streams.values()]) stream.end(new TypeError(LOST));
      opened.body.close();
      socket.onmessage = socket.onclose = null;
      socket.close();
      if (isUsed && !current) lost();
      wake();
    };
    const pulse = setInterval(() => {
      const now = Date.now();
      if (streams.size > 0) idleSince = now;
      else if (now - idleSince > idleMs) return over();
      // The browser does not report a network that swallows everything.
      if (pingedAt > heardAt && now - pingedAt > silenceMs) return over();
      if (pingedAt > heardAt || streams.size === 0) return;
      pingedAt = now;
      // Equal times would look as if the ping had been answered.
      heardAt = Math.min(heardAt, now - 1);
      socket.send(encodeFrame({ type: "ping", stream: 0 }));
    }, pingMs);
    socket.onclose = over;
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      heardAt = Date.now();
      const frame = decodeFrame(new Uint8Array(data));
      if (frame) receive(opened, frame);
    };
    return opened;
  }

  function receive(opened: OpenSocket, frame: Frame): void {
    const stream = opened.streams.get(frame.stream);
    switch (frame.type) {
      case "answer": {
        const head = frame.head as AnswerHead;
        opened.isProven ||= provesToken(head.status);
        stream?.answer(head);
        return wake();
      }
      case "data":
        return stream?.data(frame.bytes);
      case "end":
        return stream?.end();
      case "cancel":
        return stream?.end(new TypeError(frame.reason));
      case "goaway":
        // Open requests go on here; later ones open another WebSocket, perhaps to another router.
        if (current === opened) current = undefined;
        return wake();
      case "credit":
        return (frame.stream === 0 ? opened.body : stream?.toRouter)?.grant(frame.bytes);
    }
  }

  /** Resolves when something has changed. @throws the reason of the signal */
  function changed(signal: AbortSignal | null | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      const stop = () => {
        waiting = waiting.filter((each) => each !== done);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
      waiting.push(done);
    });
  }

  /** Takes a stream of the WebSocket; undefined: `fetch` must be used. */
  async function socketFor(method: string, signal: AbortSignal | null | undefined): Promise<OpenSocket | undefined> {
    for (;;) {
      signal?.throwIfAborted();
      if (current) {
        if (current.taken < (current.isProven ? MOST_STREAMS : MOST_UNPROVEN_STREAMS)) {
          current.taken++;
          return current;
        }
        await changed(signal);
        continue;
      }
      if (Date.now() < plainUntil) return undefined;
      if (state.lostSince && method !== "GET") throw new TypeError(UNREACHABLE);
      if (state.lostSince) {
        await changed(signal);
        continue;
      }
      await open().catch(() => plainUntil = Date.now() + plainMs);
    }
  }

  async function byFetch(url: URL, init: RequestInit): Promise<Response> {
    try {
      const answer = await options.fetch(url, init);
      reached(options.WebSocket !== undefined);
      return answer;
    } catch (error) {
      if (init.signal?.aborted !== true) {
        plainUntil = 0;
        lost();
      }
      throw error;
    }
  }

  /** Returns the path as the router knows it: a proxy in front may serve the router below a path of its own. */
  function pathOf({ pathname, search }: URL): string {
    const prefix = new URL("..", page).pathname.slice(0, -1);
    return (pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname) + search;
  }

  return {
    async fetch(input, init = {}) {
      const url = new URL(input, page);
      const headers = new Headers(init.headers);
      // Without a token, a proxy in front has signed the user in.
      if (/^Bearer\s*$/i.test(headers.get("Authorization") ?? "")) headers.delete("Authorization");
      const plain: RequestInit = { credentials: "omit", redirect: "manual", cache: "no-store", ...init, headers };
      if (url.origin !== origin) return await options.fetch(url, plain);
      const { method = "GET", signal } = init;
      const chosen = await socketFor(method.toUpperCase(), signal);
      if (!chosen) return await byFetch(url, plain);
      const onFree = () => {
        chosen.taken--;
        wake();
      };
      return await sendOver(chosen, pathOf(url), plain, onFree);
    },
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    retry,
    close() {
      clearTimeout(retryTimer);
      plainUntil = 0;
      failures = 0;
      current = undefined;
      for (const { socket, streams } of sockets) {
        for (const stream of [...streams.values()]) stream.end(new TypeError("The connection was closed"));
        socket.close();
      }
      change({ lostSince: undefined, retryAt: undefined });
      wake();
    },
  };
}
