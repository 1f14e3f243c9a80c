/** Watches over a connection, against a real HTTP server on loopback. @module */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { until, untilThere } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { collectGarbage } from "../../heap.ts";
import { connected, json } from "../connected.ts";

describe("watch()", () => {
  const EVENTS = [{ type: "ADDED", object: { name: "ä" } }, { type: "MODIFIED", object: { name: "\n" } }];
  const LINES = EVENTS.map((event) => `${JSON.stringify(event)}\n`).join("");

  async function read(watching: { events: AsyncIterable<unknown> }, into: unknown[]): Promise<void> {
    for await (const event of watching.events) into.push(event);
  }

  test("reads events however the bytes are cut, and ends with the answer", async () => {
    let asked: string | undefined;
    const { api, answers } = await connected(async (request, response) => {
      asked = request.url;
      for (const byte of Buffer.from(LINES)) {
        response.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      response.end();
    });
    const events: unknown[] = [];
    await read(await api.watch("/things", { resourceVersion: "7" }), events);
    expect(events).toEqual(EVENTS);
    expect(asked).toBe("/things?resourceVersion=7&watch=true");
    expect(answers).toEqual(["WATCH 200"]);
  });

  test("throws where the connection breaks, after what came whole", async () => {
    const { api } = await connected((_, response) => {
      response.write(`${LINES}{"type":"ADD`, () => response.destroy());
    });
    const events: unknown[] = [];
    await expect(read(await api.watch("/", {}), events)).rejects.toThrow();
    expect(events).toEqual(EVENTS);
  });

  test("throws where the server goes silent, be it before or after the first event", async () => {
    let isSilent = true;
    let asked = 0;
    const { api } = await connected((_, response) => {
      asked++;
      if (!isSilent) response.write(LINES);
    }, { silenceMs: 60 });
    let pass = holdTimers();
    const opening = api.watch("/", {});
    opening.catch(() => {});
    await until(() => asked >= 1);
    pass(60);
    await expect(opening).rejects.toThrow("silence for 0.06 s");
    isSilent = false;
    pass = holdTimers();
    const events: unknown[] = [];
    const reading = read(await api.watch("/", {}), events);
    reading.catch(() => {});
    await untilThere(EVENTS.length, () => events);
    pass(60);
    await expect(reading).rejects.toThrow("silence for 0.06 s");
    expect(events).toEqual(EVENTS);
  });

  test("ends with its signal, whatever garbage was collected since it began", async () => {
    const { api, stop } = await connected((_, response) => void response.write(LINES));
    const events: unknown[] = [];
    const reading = (async () => await read(await api.watch("/", {}), events))();
    reading.catch(() => {});
    await untilThere(EVENTS.length, () => events);
    await collectGarbage();
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });

  test("lasts as long as something comes now and then", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const events: unknown[] = [];
    const { api } = await connected(async (_, response) => {
      for (let i = 1; i <= 6; i++) {
        response.write(LINES);
        await until(() => events.length >= EVENTS.length * i);
        vi.advanceTimersByTime(900);
      }
      response.end();
    }, { silenceMs: 1000 });
    await read(await api.watch("/", {}), events);
    expect(events).toHaveLength(12);
  });

  test("leaves no timer, though its reader has left at an event before its signal fired", async () => {
    const silenceMs = 54_321;
    const begun = vi.spyOn(globalThis, "setTimeout");
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    onTestFinished(() => void vi.restoreAllMocks());
    const { api } = await connected((_, response) => void response.write(LINES), { silenceMs });
    const leaving = new AbortController();
    const { events } = await api.watch("/", {}, leaving.signal);
    expect(await events[Symbol.asyncIterator]().next()).toEqual({ done: false, value: EVENTS[0] });
    leaving.abort();
    const timers = begun.mock.results.filter((_, index) => begun.mock.calls[index]?.[1] === silenceMs);
    expect(timers).toHaveLength(1);
    expect(cleared).toHaveBeenCalledWith(timers[0]?.value);
  });

  test("returns a refusal without events", async () => {
    const { api } = await connected((_, response) => json(response, 410, { message: "too old" }));
    const watching = await api.watch("/", {});
    const events: unknown[] = [];
    await read(watching, events);
    expect(watching).toMatchObject({ status: 410, body: { message: "too old" } });
    expect(events).toEqual([]);
  });

  test("ends with the signal, and closes the connection", async () => {
    const closed = Promise.withResolvers<void>();
    const { api, stop } = await connected((request: IncomingMessage, response) => {
      request.socket.once("close", () => closed.resolve());
      response.write(LINES);
    });
    const watching = await api.watch("/", {});
    setImmediate(() => stop.abort());
    await expect(read(watching, [])).rejects.toThrow();
    await closed.promise;
    expect(stop.signal.aborted).toBe(true);
  });
});
