/** @module */
import { setImmediate } from "node:timers";
import { expect, test } from "vitest";
import { createWindow } from "../../../packages/runtime/terminal/frames.ts";

const NEVER = new AbortController().signal;

/** Tells whether there is room at once. */
async function hasRoom(window: ReturnType<typeof createWindow>): Promise<boolean> {
  const soon = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return await Promise.race([window.untilRoom().then(() => true), soon]);
}

test("a window closes when it is full, and opens when some of it has been taken", async () => {
  const window = createWindow(10, NEVER);
  window.send(9);
  expect(await hasRoom(window)).toBe(true);
  window.send(2);
  expect(await hasRoom(window)).toBe(false);
  const room = window.untilRoom();
  window.acknowledge(5);
  await room;
  expect(await hasRoom(window)).toBe(true);
});

test("who waits for room goes on when the other side has left", async () => {
  const left = new AbortController();
  const window = createWindow(1, left.signal);
  window.send(1);
  expect(await hasRoom(window)).toBe(false);
  const room = window.untilRoom();
  left.abort();
  await room;
});

test("without a size there is always room", async () => {
  const window = createWindow(undefined, NEVER);
  window.send(1e12);
  expect(await hasRoom(window)).toBe(true);
});

test.for([-1, 11, 0.5, NaN])("%d bytes of 10 cannot have been taken", (bytes) => {
  const window = createWindow(10, NEVER);
  window.send(10);
  expect(() => window.acknowledge(bytes)).toThrow(RangeError);
});

test("what has been taken is not taken back", () => {
  const window = createWindow(10, NEVER);
  window.send(10);
  window.acknowledge(5);
  expect(() => window.acknowledge(4)).toThrow(RangeError);
});

test("there is room while nobody hears what has been taken", async () => {
  const window = createWindow(1, NEVER);
  window.send(1);
  const room = window.untilRoom();
  window.suspendLimit(true);
  await room;
  window.suspendLimit(false);
  expect(await hasRoom(window)).toBe(false);
});
