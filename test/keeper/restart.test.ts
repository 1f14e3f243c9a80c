/** The keeper is killed at every step of an expiry and started again: nothing is lost, nothing is done twice. @module */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NOW } from "../sandboxes.ts";
import { createFakeApi, type FakeApi } from "../kube/fakeapi.ts";
import { type Keeper, putSandbox, SANDBOX, startKeeper } from "./keeping.ts";

const READY: [string, string, string] = ["True", "DependenciesReady", "Pod is Ready"];
const EXPIRED: [string, string, string] = ["False", "SandboxExpired", "Sandbox has expired"];
const SPEC = { spec: { shutdownPolicy: "Delete", shutdownTime: NOW.toISOString() } };
const RETAIN = { spec: { ...SPEC.spec, shutdownPolicy: "Retain" } };

let server: FakeApi;
const keepers: Keeper[] = [];

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  server = createFakeApi();
});
afterEach(() => {
  keepers.splice(0).forEach((keeper) => keeper.kill());
  vi.useRealTimers();
});

async function start(): Promise<Keeper> {
  const keeper = startKeeper(server);
  keepers.push(keeper);
  await vi.advanceTimersByTimeAsync(1);
  return keeper;
}

const deletions = () => server.requests.filter(({ method }) => method === "DELETE").length;

test("killed before anything is published: the next one waits for it, too", async () => {
  putSandbox(server, READY, SPEC);
  (await start()).kill();
  await start();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(deletions()).toBe(0);
  putSandbox(server, EXPIRED, SPEC);
  await vi.advanceTimersByTimeAsync(1);
  expect(server.get(SANDBOX)).toBeUndefined();
});

test("killed after it is published, before the request: the next one deletes", async () => {
  putSandbox(server, READY, SPEC);
  const first = await start();
  server.intercept = ({ method }) => {
    if (method === "DELETE") first.kill();
    return method === "DELETE" ? new Promise(() => {}) : undefined;
  };
  putSandbox(server, EXPIRED, SPEC);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.get(SANDBOX)).toBeDefined();
  server.intercept = () => undefined;
  const second = await start();
  expect(server.get(SANDBOX)).toBeUndefined();
  expect(second.actions).toEqual(["deleted"]);
});

test("killed after the request, before the answer: the next one has nothing to do", async () => {
  putSandbox(server, EXPIRED, SPEC);
  const first = await start();
  expect(server.get(SANDBOX)).toBeUndefined();
  first.kill();
  await start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(deletions()).toBe(1);
});

test("killed while a finalizer holds the Sandbox: the next one leaves it to the finalizer", async () => {
  const metadata = { deletionTimestamp: NOW.toISOString(), finalizers: ["example.com/hold"] };
  putSandbox(server, EXPIRED, { ...SPEC, metadata });
  await start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(deletions()).toBe(0);
});

test("no answer to the request: asked again, until it is gone", async () => {
  putSandbox(server, EXPIRED, SPEC);
  let tries = 0;
  server.intercept = ({ method }) => {
    if (method === "DELETE" && ++tries < 3) throw new Error("connection reset");
    return undefined;
  };
  await start();
  expect(server.get(SANDBOX)).toBeDefined();
  await vi.advanceTimersByTimeAsync(3000);
  expect(server.get(SANDBOX)).toBeUndefined();
});

test("published by a clock ahead of ours: deleted when our clock gets there", async () => {
  const shutdownTime = new Date(NOW.getTime() + 5000).toISOString();
  putSandbox(server, EXPIRED, { spec: { ...SPEC.spec, shutdownTime } });
  await start();
  await vi.advanceTimersByTimeAsync(4990);
  expect(server.get(SANDBOX)).toBeDefined();
  await vi.advanceTimersByTimeAsync(10);
  expect(server.get(SANDBOX)).toBeUndefined();
});

test("Retain: kept for good, and deleted when the policy changes and the hook has seen that", async () => {
  putSandbox(server, EXPIRED, RETAIN);
  await start();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(deletions()).toBe(0);
  putSandbox(server, EXPIRED, { ...SPEC, metadata: { generation: 2 } });
  await vi.advanceTimersByTimeAsync(1);
  expect(server.get(SANDBOX)).toBeUndefined();
});

test("extended while the request is on its way: the precondition saves it", async () => {
  putSandbox(server, EXPIRED, SPEC);
  server.intercept = ({ method }) => {
    if (method === "DELETE") {
      putSandbox(server, EXPIRED, { spec: { shutdownPolicy: "Delete" }, metadata: { generation: 2 } });
    }
    return undefined;
  };
  await start();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(server.get(SANDBOX)).toBeDefined();
  expect(deletions()).toBe(1);
});
