/** CloudEvents on their way to a receiver that fails: order, patience, and how much waits. @module */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type CloudEvent, cloudEventOf } from "../../packages/cloudevents/cloudevent.ts";
import { createDelivery, type Result } from "../../packages/cloudevents/delivery.ts";
import { type Outcome, outcomeOf } from "../../packages/cloudevents/receiver.ts";
import { NOW } from "../sandboxes.ts";

const DAY_MS = 24 * 3600_000;
const ok: Outcome = { verdict: "delivered" };
const failing: Outcome = { verdict: "again", error: "no route", afterMs: 0 };

let sent: { at: number; id: string }[];
let results: Result[];
let waiting: number;
let lines: string[];
let answer: (event: CloudEvent) => Outcome | Promise<Outcome>;
let end: AbortController;
let deliver: (event: CloudEvent) => void;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  sent = [];
  results = [];
  lines = [];
  answer = () => ok;
  end = new AbortController();
  deliver = createDelivery({
    async receiver(event) {
      sent.push({ at: (Date.now() - NOW.getTime()) / 1000, id: event.id });
      return await answer(event);
    },
    log: (level, message) => lines.push(`${level} ${message}`),
    onResult(result, count) {
      results.push(result);
      waiting = count;
    },
  }, end.signal);
});
afterEach(() => {
  end.abort();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const event = (name: string, key: string, namespace = "team-a") =>
  cloudEventOf({
    what: "ready",
    sandbox: { namespace, name, uid: name, claim: undefined, traceparent: undefined },
    key,
    at: NOW.getTime(),
  }, "/hookbox");
const ids = () => sent.map(({ id }) => id.replace("_ready_", "."));
const times = () => sent.map(({ at }) => at);
const count = (result: Result) => results.filter((one) => one === result).length;

test("an event is sent once", async () => {
  deliver(event("a", "1"));
  await pass(DAY_MS);
  expect([ids(), results, waiting]).toEqual([["a.1"], ["delivered"], 0]);
});

test("the next one of a Sandbox waits for the one before, those of others do not", async () => {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  answer = ({ id }) => id === "a_ready_1" ? promise : ok;
  for (const [name, key] of [["a", "1"], ["a", "2"], ["b", "1"], ["b", "2"]] as const) deliver(event(name, key));
  await pass(1000);
  expect(ids()).toEqual(["a.1", "b.1", "b.2"]);
  resolve(ok);
  await pass(0);
  expect(ids()).toEqual(["a.1", "b.1", "b.2", "a.2"]);
  deliver(event("a", "3"));
  await pass(0);
  expect(ids().at(-1)).toBe("a.3");
});

test("one that fails is tried again, ever more seldom, and what comes after it waits", async () => {
  answer = () => sent.length < 7 ? failing : ok;
  deliver(event("a", "1"));
  deliver(event("a", "2"));
  await pass(120_000);
  expect(ids()).toEqual([...Array(7).fill("a.1"), "a.2"]);
  expect(times()).toEqual([0, 1, 3, 7, 15, 31, 61, 61]);
  expect(lines).toEqual(["warn Cannot deliver CloudEvents", "info CloudEvents are delivered again"]);
});

test("one that is refused makes way at once", async () => {
  answer = ({ id }) => id === "a_ready_1" ? outcomeOf(422, null) : ok;
  deliver(event("a", "1"));
  deliver(event("a", "2"));
  await pass(0);
  expect([ids(), results]).toEqual([["a.1", "a.2"], ["refused", "delivered"]]);
  expect(lines).toEqual(["warn CloudEvent refused"]);
});

test("one that nobody takes for a day is dropped, and the next has its day", async () => {
  answer = () => failing;
  deliver(event("a", "1"));
  await pass(DAY_MS / 2);
  deliver(event("a", "2"));
  await pass(DAY_MS / 2 + 60_000);
  expect([count("dropped"), waiting, ids().at(-1)]).toEqual([1, 1, "a.2"]);
  answer = () => ok;
  await pass(60_000);
  expect([count("delivered"), waiting]).toEqual([1, 0]);
});

describe("a receiver that fails", () => {
  test("is asked little, however much waits, and has all of it when it is back", async () => {
    answer = () => failing;
    for (let index = 0; index < 1000; index++) deliver(event(`s${index}`, "1"));
    await pass(600_000);
    expect(count("failed")).toBeLessThan(8 * (6 + 600 / 30));
    expect(lines.length).toBeLessThanOrEqual(10);
    answer = () => ok;
    await pass(31_000);
    expect([count("delivered"), waiting]).toEqual([1000, 0]);
  });

  test("is left alone for as long as it says, up to five minutes", async () => {
    answer = () => sent.length === 1 ? outcomeOf(503, "90") : ok;
    deliver(event("a", "1"));
    await pass(1000);
    deliver(event("b", "1"));
    await pass(88_000);
    expect(ids()).toEqual(["a.1"]);
    await pass(2000);
    expect(ids().toSorted()).toEqual(["a.1", "a.1", "b.1"]);
    expect(outcomeOf(429, "86400")).toMatchObject({ afterMs: 300_000 });
  });

  test("by one event holds up one Sandbox", async () => {
    answer = ({ id }) => id === "a_ready_1" ? failing : ok;
    deliver(event("a", "1"));
    for (let second = 0; second < 300; second++) {
      deliver(event(`s${second}`, "1"));
      await pass(1000);
    }
    expect(count("delivered")).toBe(300);
  });
});

test("of a namespace that makes too many some are dropped, and others have room", async () => {
  answer = () => failing;
  for (let index = 0; index < 2500; index++) deliver(event(`s${index}`, "1", "loud"));
  deliver(event("a", "1", "quiet"));
  expect([count("dropped"), lines.filter((line) => line.includes("too many are waiting")).length]).toEqual([500, 1]);
  for (let space = 0; space < 10; space++) {
    for (let index = 0; index < 1000; index++) deliver(event(`s${space}-${index}`, "1", `space-${space}`));
  }
  await pass(1000);
  expect(waiting).toBe(10_000);
  answer = () => ok;
  await pass(60_000);
  expect([count("delivered"), waiting]).toEqual([10_000, 0]);
  expect(ids()).toContain("a.1");
});

test("namespaces take turns", async () => {
  answer = () => new Promise((resolve) => setTimeout(resolve, 100, ok));
  for (let index = 0; index < 100; index++) deliver(event(`s${index}`, "1", "loud"));
  deliver(event("a", "1", "quiet"));
  await pass(250);
  expect(ids()).toContain("a.1");
});

test("nothing is sent after the end", async () => {
  answer = () => failing;
  deliver(event("a", "1"));
  await pass(0);
  end.abort();
  await pass(DAY_MS);
  expect(ids()).toEqual(["a.1"]);
});

test.for<[number, Outcome["verdict"]]>([
  [200, "delivered"],
  [202, "delivered"],
  [204, "delivered"],
  [301, "again"],
  [400, "refused"],
  [401, "again"],
  [404, "again"],
  [408, "again"],
  [410, "again"],
  [413, "refused"],
  [415, "refused"],
  [422, "refused"],
  [429, "again"],
  [500, "again"],
  [503, "again"],
])("outcomeOf() %d: %s", ([status, want]) => {
  expect(outcomeOf(status, "Wed, 21 Oct 2026 07:28:00 GMT")).toMatchObject({ verdict: want });
});
