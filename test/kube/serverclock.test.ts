/** createServerClock() computes the API server's time, independently of this machine's wall clock. @module */
import { expect, test } from "vitest";
import { createServerClock } from "../../packages/kube/connection.ts";
import { connected, json } from "./connected.ts";

const HOUR = 3_600_000;
const START = Date.parse("2026-11-27T12:00:00Z");

/** A server whose clock is right, and this process' monotonic clock; `take` is one request that is so long on its way. */
function aServer() {
  let monotonic = 5000;
  let serverTime = START;
  const clock = createServerClock(() => monotonic);
  const pass = (ms: number) => {
    monotonic += ms;
    serverTime += ms;
  };
  return {
    pass,
    setServer: (ms: number) => serverTime += ms,
    take(ms = 0) {
      const sentAt = monotonic;
      pass(ms / 2);
      const date = new Date(serverTime).toUTCString();
      pass(ms / 2);
      clock.answered(date, sentAt, monotonic);
    },
    /** How late the clock is, in milliseconds. */
    late: () => serverTime - (clock.now() ?? NaN),
    clock,
  };
}

test("nothing is known before the first answer, nor by one without a date", () => {
  const { clock } = aServer();
  expect(clock.now()).toBeUndefined();
  clock.answered(undefined, 0, 1);
  clock.answered("soon", 0, 1);
  expect(clock.now()).toBeUndefined();
});

test("it is a second late at most and never early, and goes on between answers", () => {
  const server = aServer();
  server.pass(990);
  server.take(200);
  expect(server.late()).toBe(190);
  server.pass(HOUR);
  expect(server.late()).toBe(190);
  server.take(30_000);
  expect(server.late(), "an answer that was long on its way says little").toBe(190);
  for (let i = 0; i < 50; i++) {
    server.pass(337);
    server.take(20);
    expect(server.late()).toBeGreaterThanOrEqual(0);
  }
  expect(server.late()).toBeLessThan(100);
});

test("it follows a server whose clock is set", () => {
  const server = aServer();
  for (const ms of [HOUR, -2 * HOUR]) {
    server.take();
    server.setServer(ms);
    server.take();
    expect(Math.abs(server.late())).toBeLessThanOrEqual(1000);
  }
});

test("a connection takes it from answers of any status", async () => {
  const { api } = await connected((_, response) => {
    response.setHeader("Date", "Fri, 27 Nov 2020 12:00:00 GMT");
    json(response, 404, {});
  });
  expect(api.now?.()).toBeUndefined();
  await api.send({ method: "GET", path: "/api/v1/x" });
  const late = (api.now?.() ?? 0) - Date.parse("2020-11-27T12:00:00Z");
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(HOUR);
});
