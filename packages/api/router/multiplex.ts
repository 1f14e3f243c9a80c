/**
 * The frames by which the dashboard sends many requests over one WebSocket, and the flow control of both sides. Pure.
 * @module
 */

/** Path of the WebSocket. */
export const MULTIPLEX_PATH = "/.hookbox/connection";
/** The WebSocket subprotocol. */
export const MULTIPLEX_PROTOCOL = "hookbox.requests.v1";

/** Most requests that are open on one connection at a time. */
export const MOST_STREAMS = 100;
/** The same, until an answer shows that the client has a valid token. */
export const MOST_UNPROVEN_STREAMS = 8;
/** Most bytes of a body in one frame. */
export const FRAME_BYTES = 16 * 1024;
/** Longest head of a request in a frame, in bytes. A token with many groups has some kilobytes. */
export const HEAD_BYTES = 32 * 1024;
/** How much of one body may be on its way, in bytes. Every frame counts as {@link FRAME_COST} bytes more. */
export const STREAM_WINDOW = 256 * 1024;
/** How much of all bodies of requests on one connection may be on its way together, in bytes. */
export const CONNECTION_WINDOW = 1024 * 1024;
/** What a frame costs in addition to its bytes: otherwise a window would hold 262,144 frames of one byte. */
const FRAME_COST = 256;
/** A sender waits until it may send so many bytes at once, so that it does not send tiny frames. */
const LEAST_ROOM = 1024;

/** Beginning of a request. */
export interface RequestHead {
  method: string;
  /** With the query; begins with a slash. */
  path: string;
  headers: [name: string, value: string][];
  /** Bytes of the body; absent: they are not known yet; 0: there is no body. */
  length?: number;
}

/** Beginning of an answer. */
export interface AnswerHead {
  status: number;
  message: string;
  headers: [name: string, value: string][];
}

/**
 * A frame. The client chooses the numbers of streams, in ascending order from 1.
 *
 * | type | from | meaning |
 * |---|---|---|
 * | `request` | client | opens a stream; `head` is a {@link RequestHead} |
 * | `answer` | router | `head` is an {@link AnswerHead} |
 * | `data` | both | part of the body of the request or the answer |
 * | `end` | both | end of the body. The end of the answer closes the stream |
 * | `cancel` | both | closes the stream early; `reason` is for people |
 * | `credit` | both | the sender of the body may send so many bytes more; stream 0: of all bodies together |
 * | `ping`, `pong` | client, router | shows that the connection works; stream 0 |
 * | `goaway` | router | the router stops: open streams end, new requests need another connection; stream 0 |
 */
export type Frame =
  | { type: "request" | "answer"; stream: number; head: unknown }
  | { type: "data"; stream: number; bytes: Uint8Array }
  | { type: "end" | "ping" | "pong" | "goaway"; stream: number }
  | { type: "cancel"; stream: number; reason: string }
  | { type: "credit"; stream: number; bytes: number };

const TYPES = ["request", "answer", "data", "end", "cancel", "credit", "ping", "pong", "goaway"] as const;
const PREFIX_BYTES = 5;
const MOST_REASON = 500;

/** Writes a frame: its type (1 byte), its stream (4 bytes, big-endian), and its content. */
export function encodeFrame(frame: Frame): Uint8Array<ArrayBuffer> {
  const content = contentOf(frame);
  const bytes = new Uint8Array(PREFIX_BYTES + content.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, TYPES.indexOf(frame.type) + 1);
  view.setUint32(1, frame.stream);
  bytes.set(content, PREFIX_BYTES);
  return bytes;
}

function contentOf(frame: Frame): Uint8Array {
  switch (frame.type) {
    case "request":
    case "answer":
      return new TextEncoder().encode(JSON.stringify(frame.head));
    case "data":
      return frame.bytes;
    case "cancel":
      return new TextEncoder().encode(frame.reason.slice(0, MOST_REASON));
    case "credit": {
      const bytes = new Uint8Array(4);
      new DataView(bytes.buffer).setUint32(0, frame.bytes);
      return bytes;
    }
    default:
      return new Uint8Array();
  }
}

/** Reads a frame. The bytes of `data` are not copied. @returns undefined: it is not a frame */
export function decodeFrame(bytes: Uint8Array): Frame | undefined {
  if (bytes.length < PREFIX_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const type = TYPES[view.getUint8(0) - 1];
  const stream = view.getUint32(1);
  const content = bytes.subarray(PREFIX_BYTES);
  switch (type) {
    case "request":
    case "answer":
      try {
        return { type, stream, head: JSON.parse(new TextDecoder().decode(content)) };
      } catch {
        return undefined;
      }
    case "data":
      return { type, stream, bytes: content };
    case "cancel":
      return { type, stream, reason: new TextDecoder().decode(content.subarray(0, MOST_REASON)) };
    case "credit":
      return content.length === 4 ? { type, stream, bytes: view.getUint32(PREFIX_BYTES) } : undefined;
    case undefined:
      return undefined;
    default:
      return { type, stream };
  }
}

/** What the sender of bodies may still send. */
export interface SendWindow {
  /** Bytes that may be sent in one frame now; 0: none. */
  room(): number;
  /** A frame with so many bytes was sent. */
  sent(bytes: number): void;
  /** The receiver allows so many bytes more. */
  grant(bytes: number): void;
  /** Resolves when there is room, or the window was closed. */
  untilRoom(): Promise<void>;
  /** Ends the wait: nothing will be sent any more. */
  close(): void;
}

/** Creates the window of a sender. @param size as the receiver's: {@link STREAM_WINDOW} or {@link CONNECTION_WINDOW} */
export function createSendWindow(size: number): SendWindow {
  let left = size;
  let isClosed = false;
  let waiting: (() => void)[] = [];
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const each of woken) each();
  };
  const room = () => left - FRAME_COST < LEAST_ROOM ? 0 : left - FRAME_COST;
  return {
    room,
    sent: (bytes) => void (left -= bytes + FRAME_COST),
    grant(bytes) {
      left += bytes;
      wake();
    },
    async untilRoom() {
      while (room() === 0 && !isClosed) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    close() {
      isClosed = true;
      wake();
    },
  };
}

/** What a receiver of bodies has allowed. */
export interface ReceiveWindow {
  /** A frame with so many bytes has arrived. @returns false if the sender was not allowed to send it */
  received(bytes: number): boolean;
  /** A frame with so many bytes was used, and its memory is free again. */
  used(bytes: number): void;
}

/** Creates the window of a receiver. @param grant sends the credit to the sender; called for a quarter of `size` at once */
export function createReceiveWindow(size: number, grant: (bytes: number) => void): ReceiveWindow {
  let open = size;
  let owed = 0;
  return {
    received(bytes) {
      open -= bytes + FRAME_COST;
      return open >= 0;
    },
    used(bytes) {
      owed += bytes + FRAME_COST;
      if (owed < size / 4) return;
      open += owed;
      grant(owed);
      owed = 0;
    },
  };
}

/**
 * Sends bytes of a body in frames, as far as all `windows` allow it.
 *
 * @param send sends one frame; the next one waits until this one is sent
 * @param isOver true: the stream is closed, and the rest is dropped
 */
export async function sendBytes(
  bytes: Uint8Array,
  windows: readonly SendWindow[],
  { send, isOver }: { send(part: Uint8Array): Promise<void> | void; isOver(): boolean },
): Promise<void> {
  for (let at = 0; at < bytes.length && !isOver();) {
    const most = Math.min(FRAME_BYTES, ...windows.map((window) => window.room()));
    if (most === 0) {
      for (const window of windows) await window.untilRoom();
      continue;
    }
    const part = bytes.subarray(at, at + most);
    for (const window of windows) window.sent(part.length);
    await send(part);
    at += part.length;
  }
}

/** Returns whether an answer shows that the client has a valid token: from then on, it may open {@link MOST_STREAMS}. */
export function provesToken(status: number): boolean {
  return status >= 200 && status < 400;
}
