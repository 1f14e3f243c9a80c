import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Occurrence } from "../../packages/kube/event.ts";
import { createEventQueue, eventVerdict, type RecordEvent } from "../../packages/keeper/observability/eventrecorder.ts";
import { NOW } from "../sandboxes.ts";
import { createFakeApi, type FakeApi, refusal } from "../kube/fakeapi.ts";

const EVENTS = "/apis/events.k8s.io/v1/namespaces/team-a/events";
const OCCURRENCE: Occurrence = {
  regarding: { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", namespace: "team-a", name: "demo", uid: "u" },
  type: "Warning",
  reason: "MultiplePods",
  action: "Reconciling",
  note: "two",
  reportingController: "sandbox-controller",
  key: "1",
  at: NOW.getTime(),
};

let server: FakeApi;
let lines: string[];
let end: AbortController;
let record: RecordEvent;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  server = createFakeApi();
  lines = [];
  end = new AbortController();
  const log = (level: string, message: string) => lines.push(`${level} ${message}`);
  record = createEventQueue({ api: server, log, instance: "host-1", signal: end.signal });
});
afterEach(() => {
  end.abort();
  vi.useRealTimers();
});
const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);
const posts = () => server.requests.map(({ method, path }) => `${method} ${path}`);

test.for<[number, string, ReturnType<typeof eventVerdict>]>([
  [201, "", "settled"],
  [409, "already exists", "settled"],
  [404, 'namespaces "team-a" not found', "settled"],
  [
    403,
    "unable to create new content in namespace team-a because it is being terminated",
    "settled",
  ],
  [403, 'events.events.k8s.io is forbidden: User "keeper" cannot create', "refused"],
  [400, "bad", "refused"],
  [422, "invalid", "refused"],
  [401, "Unauthorized", "again"],
  [408, "timeout", "again"],
  [429, "too many requests", "again"],
  [500, "etcd is away", "again"],
  [503, "not yet", "again"],
])("eventVerdict(): %d %s is %s", ([status, message, want]) => {
  expect(eventVerdict(refusal(status, message))).toBe(want);
});

test("an Event costs one request", async () => {
  record(OCCURRENCE);
  await pass(600);
  expect(posts()).toEqual([`POST ${EVENTS}`]);
  expect(server.requests[0]?.body).toMatchObject({ reason: "MultiplePods", reportingInstance: "host-1" });
});

test("one that exists already is done, and nobody hears of it", async () => {
  server.intercept = () => refusal(409, "already exists");
  record(OCCURRENCE);
  await pass(600);
  expect(posts()).toHaveLength(1);
  expect(lines).toEqual([]);
});

test("a namespace that is going away is done, and nobody hears of it", async () => {
  server.intercept = () => refusal(403, "forbidden because it is being terminated");
  record(OCCURRENCE);
  await pass(600);
  expect(posts()).toHaveLength(1);
  expect(lines).toEqual([]);
});

test("a refusal that stays is logged once", async () => {
  server.intercept = () => refusal(403, "no rights");
  record(OCCURRENCE);
  await pass(600);
  expect(posts()).toHaveLength(1);
  expect(lines).toEqual(["warn Event refused"]);
});

test("a server that is away is asked again after 1, 2 and 4 seconds, until it has the Event", async () => {
  const times: number[] = [];
  server.intercept = () => {
    times.push((Date.now() - NOW.getTime()) / 1000);
    if (times.length === 1) throw new Error("Cannot reach it");
    return times.length < 4 ? refusal(503, "not yet") : undefined;
  };
  record(OCCURRENCE);
  await pass(600);
  expect(times).toEqual([0, 1, 3, 7]);
});

test("a server that stays away is given up on after five minutes", async () => {
  server.intercept = () => refusal(500, "never");
  record(OCCURRENCE);
  await pass(400);
  const tries = posts().length;
  expect(tries).toBeGreaterThan(10);
  await pass(3600);
  expect(posts()).toHaveLength(tries);
});

test("a slow server holds up no more than two at once, and all arrive", async () => {
  let running = 0;
  let most = 0;
  server.intercept = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 100));
    running--;
    return undefined;
  };
  for (let key = 0; key < 10; key++) record({ ...OCCURRENCE, key: String(key) });
  await pass(2);
  expect(posts()).toHaveLength(10);
  expect(most).toBe(2);
});

test("what has been recorded is not kept, so that the same occurrence is asked about again", async () => {
  record(OCCURRENCE);
  await pass(1);
  record(OCCURRENCE);
  await pass(1);
  expect(posts()).toHaveLength(2);
});
