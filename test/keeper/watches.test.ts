import { expect, test, vi } from "vitest";
import type { EventHandler } from "../../packages/kube/watch.ts";
import { listAndWatchAll } from "../../packages/keeper/watches.ts";
import { aSandbox } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";
import { aClaim, aPool, CLAIM, POOL, TEMPLATE } from "./extensions.ts";
import { createFakeApi, refusal } from "../kube/fakeapi.ts";
import { SANDBOX } from "./keeping.ts";

function recorder() {
  const seen: string[] = [];
  const handler: EventHandler<{ kind: string }> = {
    observe: ({ kind }) => seen.push(kind),
    gone: () => seen.push("gone"),
    listing: () => seen.push("listing"),
    listed: () => seen.push("listed"),
  };
  return { seen, handler };
}

const NONE = { sandboxes: [], sandboxclaims: [], sandboxwarmpools: [], sandboxtemplates: [], networkpolicies: [] };

test("listAndWatchAll() opens one watch for each kind, shows each event handler what is its own, and tells when all is listed", async () => {
  vi.useFakeTimers();
  const server = createFakeApi();
  server.put(SANDBOX, { ...aSandbox() });
  server.put(CLAIM, { ...aClaim() });
  server.put(POOL, { ...aPool() });
  server.put(TEMPLATE, { ...aTemplate() });
  let isRefused = true;
  server.intercept = ({ path }) =>
    isRefused && path.endsWith("/sandboxwarmpools") ? refusal(500, "not now") : undefined;
  const [first, second, claims, pools, templates] = [recorder(), recorder(), recorder(), recorder(), recorder()];
  const handlers = {
    sandboxes: [first.handler, second.handler],
    sandboxclaims: [claims.handler],
    sandboxwarmpools: [pools.handler],
    sandboxtemplates: [templates.handler],
    networkpolicies: [],
  };
  const raw = recorder();
  const end = new AbortController();
  const onListed = vi.fn();
  void listAndWatchAll(server, handlers, { log: () => {}, signal: end.signal, onListed }, { sandboxes: raw.handler });
  await vi.advanceTimersByTimeAsync(500);
  expect(onListed).not.toHaveBeenCalled();
  isRefused = false;
  await vi.advanceTimersByTimeAsync(1000);
  server.endWatches();
  await vi.advanceTimersByTimeAsync(1000);
  server.compact();
  server.endWatches();
  await vi.advanceTimersByTimeAsync(5000);
  expect(onListed).toHaveBeenCalledOnce();
  expect(first.seen.slice(0, 3)).toEqual(["listing", "Sandbox", "listed"]);
  expect(raw.seen).toEqual(first.seen);
  expect(second.seen).toEqual(first.seen);
  expect([claims, pools, templates].map(({ seen }) => seen.find((what) => what !== "listing"))).toEqual([
    "SandboxClaim",
    "SandboxWarmPool",
    "SandboxTemplate",
  ]);
  server.remove(POOL);
  await vi.advanceTimersByTimeAsync(10);
  expect(pools.seen.at(-1)).toBe("gone");
  end.abort();
  vi.useRealTimers();
});

test("an event handler that cannot read an object gets the others, and so do other event handlers", async () => {
  vi.useFakeTimers();
  const server = createFakeApi();
  server.put(SANDBOX, { ...aSandbox() });
  server.put(SANDBOX.replace("demo", "second"), { ...aSandbox({ metadata: { name: "second", uid: "uid-second" } }) });
  const seen: string[] = [];
  const picky: EventHandler<{ metadata: { name: string } }> = {
    ...recorder().handler,
    observe({ metadata: { name } }) {
      if (name === "demo") throw new TypeError("ports.map is not a function");
      seen.push(name);
    },
  };
  const other = recorder();
  const end = new AbortController();
  const lines: string[] = [];
  const log = (_: string, message: string) => lines.push(message);
  const handlers = { ...NONE, sandboxes: [picky, other.handler] };
  void listAndWatchAll(server, handlers, { log, signal: end.signal, onListed: () => {} });
  await vi.advanceTimersByTimeAsync(5000);
  expect(seen).toEqual(["second"]);
  expect(other.seen).toEqual(["listing", "Sandbox", "Sandbox", "listed"]);
  expect(lines).toEqual(["Cannot take note for sandboxes"]);
  end.abort();
  vi.useRealTimers();
});

test("listAndWatchAll() asks for Sandboxes when it has all claims, and not before", async () => {
  vi.useFakeTimers();
  const server = createFakeApi();
  let isRefused = true;
  server.intercept = ({ path }) => isRefused && path.endsWith("/sandboxclaims") ? refusal(500, "not now") : undefined;
  const end = new AbortController();
  const handlers = NONE;
  void listAndWatchAll(server, handlers, { log: () => {}, signal: end.signal, onListed: () => {} });
  const asked = () => server.requests.filter(({ path }) => path.endsWith("/sandboxes")).length;
  await vi.advanceTimersByTimeAsync(500);
  expect(asked()).toBe(0);
  isRefused = false;
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked()).toBeGreaterThan(0);
  end.abort();
  vi.useRealTimers();
});
