/** The frames of the page's connection, and the windows that limit bodies. @module */
import { expect, test } from "vitest";
import {
  createReceiveWindow,
  createSendWindow,
  decodeFrame,
  encodeFrame,
  type Frame,
  FRAME_BYTES,
  sendBytes,
  STREAM_WINDOW,
} from "../../packages/api/router/multiplex.ts";
import fc from "../properties.ts";

test.for<Frame>([
  { type: "request", stream: 1, head: { method: "GET", path: "/ü", headers: [["A", "b"]] } },
  { type: "answer", stream: 2 ** 32 - 1, head: { status: 200 } },
  { type: "data", stream: 7, bytes: new Uint8Array([0, 255]) },
  { type: "data", stream: 7, bytes: new Uint8Array() },
  { type: "end", stream: 1 },
  { type: "cancel", stream: 1, reason: "größer" },
  { type: "credit", stream: 0, bytes: 2 ** 32 - 1 },
  { type: "ping", stream: 0 },
  { type: "pong", stream: 0 },
  { type: "goaway", stream: 0 },
])("a frame $type is read as it was written", (frame) => {
  expect(decodeFrame(encodeFrame(frame))).toEqual(frame);
});

test("bytes that are no frame are refused, and none makes it throw", () => {
  for (const bytes of [[], [1, 0, 0, 0], [0, 0, 0, 0, 1], [10, 0, 0, 0, 1], [1, 0, 0, 0, 1, 123], [6, 0, 0, 0, 1, 0]]) {
    expect(decodeFrame(new Uint8Array(bytes))).toBeUndefined();
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => void decodeFrame(bytes)));
});

test("a sender sends no more than its receiver allows, and all of it once it does", async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(fc.integer({ min: 0, max: 3 * STREAM_WINDOW }), { maxLength: 4 }),
    async (sizes) => {
      const sender = createSendWindow(STREAM_WINDOW);
      const receiver = createReceiveWindow(STREAM_WINDOW, (bytes) => sender.grant(bytes));
      const held: number[] = [];
      let sent = 0;
      const send = (part: Uint8Array) => {
        expect(part.length).toBeLessThanOrEqual(FRAME_BYTES);
        expect(receiver.received(part.length), "more than allowed").toBe(true);
        held.push(part.length);
        sent += part.length;
      };
      const sending = (async () => {
        for (const size of sizes) await sendBytes(new Uint8Array(size), [sender], { send, isOver: () => false });
      })();
      const total = sizes.reduce((sum, size) => sum + size, 0);
      // The reader takes one frame at a time.
      while (sent < total || held.length > 0) {
        const next = held.shift();
        if (next !== undefined) receiver.used(next);
        await Promise.resolve();
      }
      await sending;
      expect(sent).toBe(total);
    },
  ));
});

test("a window holds few tiny frames: each costs more than its bytes", () => {
  const receiver = createReceiveWindow(STREAM_WINDOW, () => {});
  let frames = 0;
  while (receiver.received(1)) frames++;
  expect(frames).toBe(Math.floor(STREAM_WINDOW / 257));
});

test("tiny frames without end pass, never more than the window allows at once, if each is used when it arrives", () => {
  const sender = createSendWindow(STREAM_WINDOW);
  const receiver = createReceiveWindow(STREAM_WINDOW, (bytes) => sender.grant(bytes));
  const full = sender.room();
  for (let frames = 0; frames < 10_000; frames++) {
    expect(sender.room(), "the sender waits for credit although everything was used").toBeGreaterThan(0);
    expect(sender.room(), "more credit than was used").toBeLessThanOrEqual(full);
    sender.sent(1);
    expect(receiver.received(1), "more than allowed").toBe(true);
    receiver.used(1);
  }
});

test("a sender whose stream is over stops", async () => {
  const sender = createSendWindow(STREAM_WINDOW);
  let isOver = false;
  let sent = 0;
  const sending = sendBytes(new Uint8Array(2 * STREAM_WINDOW), [sender], {
    send: (part) => void (sent += part.length),
    isOver: () => isOver,
  });
  isOver = true;
  sender.close();
  await sending;
  expect(sent).toBeLessThan(STREAM_WINDOW);
});
