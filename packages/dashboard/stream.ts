/** Sends one request as a stream of the page's WebSocket, and turns the stream's frames into a Response. @module */
/// <reference lib="dom" />
import {
  type AnswerHead,
  createReceiveWindow,
  createSendWindow,
  encodeFrame,
  type Frame,
  type ReceiveWindow,
  type RequestHead,
  sendBytes,
  type SendWindow,
  STREAM_WINDOW,
} from "../api/router/multiplex.ts";

/** A request that has been sent. */
interface Stream {
  answer(head: AnswerHead): void;
  data(bytes: Uint8Array): void;
  /** @param error undefined: the answer is complete */
  end(error?: Error): void;
  toRouter: SendWindow;
}

/** An open WebSocket. */
export interface OpenSocket {
  socket: WebSocket;
  streams: Map<number, Stream>;
  body: SendWindow;
  /** Streams that are open, or about to be. */
  taken: number;
  last: number;
  isProven: boolean;
}

/** Message of requests whose WebSocket has closed. */
export const LOST = "The connection to the router broke";

/** Sends one request, and resolves with its answer when the head has arrived. @param onFree called when it is over */
export function sendOver(open: OpenSocket, path: string, init: RequestInit, onFree: () => void): Promise<Response> {
  const { socket, streams } = open;
  const { signal, method = "GET" } = init;
  const id = ++open.last;
  const send = (frame: Frame) => socket.readyState === socket.OPEN && socket.send(encodeFrame(frame));
  return new Promise((resolve, reject) => {
    const answer = createAnswerBody(
      (bytes) => send({ type: "credit", stream: id, bytes }),
      () => finish(undefined, "The page no longer reads the answer"),
    );
    const toRouter = createSendWindow(STREAM_WINDOW);
    const finish = (error?: unknown, cancel?: string) => {
      if (!streams.delete(id)) return;
      signal?.removeEventListener("abort", abort);
      toRouter.close();
      if (cancel !== undefined) send({ type: "cancel", stream: id, reason: cancel });
      answer.end(error);
      reject(error ?? new TypeError(LOST));
      onFree();
    };
    const abort = () => finish(signal?.reason, "The page has cancelled the request");
    signal?.addEventListener("abort", abort, { once: true });
    streams.set(id, {
      toRouter,
      answer({ status, message, headers }) {
        const hasBody = method !== "HEAD" && ![101, 204, 205, 304].includes(status);
        try {
          resolve(new Response(hasBody ? answer.stream : null, { status, statusText: message, headers }));
        } catch (error) {
          finish(error, "The browser cannot show the answer");
        }
      },
      data: (bytes) => answer.add(bytes) || finish(new TypeError("The router sent more than allowed"), "Too much"),
      end: (error) => finish(error),
    });
    if (signal?.aborted) return abort();
    const { head, body } = requestOf(path, init);
    send({ type: "request", stream: id, head });
    if (!body) return;
    const isOver = () => !streams.has(id);
    sendBody(body, [toRouter, open.body], (bytes) => void send({ type: "data", stream: id, bytes }), isOver).then(
      () => isOver() || send({ type: "end", stream: id }),
      (error) => finish(error, "The page cannot read the body"),
    );
  });
}

/** Returns head and body as `fetch` would send them. */
function requestOf(
  path: string,
  { method = "GET", headers, body: given }: RequestInit,
): { head: RequestHead; body: ReadableStream<Uint8Array> | null } {
  const length = lengthOf(given);
  const { body, headers: implied } = new Response(length === 0 ? null : given);
  const sent = new Headers(headers);
  const type = implied.get("Content-Type");
  if (type !== null && !sent.has("Content-Type")) sent.set("Content-Type", type);
  const head: RequestHead = {
    method: method.toUpperCase(),
    path,
    headers: [...sent],
    ...length === undefined ? {} : { length },
  };
  return { head, body };
}

function lengthOf(body: RequestInit["body"]): number | undefined {
  if (body === undefined || body === null) return 0;
  if (typeof body === "string") return new TextEncoder().encode(body).length;
  if (body instanceof Blob) return body.size;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
  return undefined;
}

async function sendBody(
  body: ReadableStream<Uint8Array>,
  windows: SendWindow[],
  send: (bytes: Uint8Array) => void,
  isOver: () => boolean,
): Promise<void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || isOver()) return;
      await sendBytes(value, windows, { send, isOver });
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The body of an answer. It holds what has arrived until it is read, and grants credit for what was read. */
function createAnswerBody(grant: (bytes: number) => void, onCancel: () => void) {
  const window: ReceiveWindow = createReceiveWindow(STREAM_WINDOW, grant);
  let parts: Uint8Array[] = [];
  let ended: { error: unknown } | undefined;
  let onPart = () => {};
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      while (parts.length === 0 && !ended) await new Promise<void>((resolve) => onPart = resolve);
      const part = parts.shift();
      if (part) {
        controller.enqueue(part);
        window.used(part.length);
      } else if (ended?.error !== undefined) controller.error(ended.error);
      else controller.close();
    },
    cancel() {
      parts = [];
      onCancel();
    },
  }, { highWaterMark: 0 });
  return {
    stream,
    /** @returns false if the router was not allowed to send it */
    add(bytes: Uint8Array): boolean {
      if (!window.received(bytes.length)) return false;
      parts.push(bytes);
      onPart();
      return true;
    },
    /** @param error undefined: the body is complete */
    end(error?: unknown): void {
      ended ??= { error };
      // After an error, as with fetch, the rest is not read.
      if (error !== undefined) parts = [];
      onPart();
    },
  };
}
