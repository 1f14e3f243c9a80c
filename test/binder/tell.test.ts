/** Who says what a claim was given: the binder soon and for a moment, tried again where it fails; else the hook. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { handedOver } from "../../packages/binder/handover.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { aWorld, broken, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const ENV = { env: [{ name: "A", value: "1" }] };
const isStatus = ({ path }: { path: string }) => path.endsWith("/status");
const refusing = (status: number): ApiFault => (request) =>
  isStatus(request) ? { status, body: { message: "no" } } : undefined;
const puts = () => world.asked.filter((line) => line.startsWith("PUT sandboxes/"));
const told = () => world.asked.filter((line) => line === "PUT sandboxclaims/c/status").length;

/** Makes a world with so many Ready members, and a binder on it. */
async function begin(members: number[], ...binder: Parameters<typeof world.binder>) {
  world = await aWorld({ template: OPEN });
  await world.members(members);
  await world.binder(...binder);
}

test("a cold Sandbox that is Ready soon is shown by the binder", async () => {
  await begin([]);
  await world.claim("c", { spec: ENV });
  await world.clock.advance(1000);
  const [made] = world.sandboxes();
  await world.store.put({ ...made, status: STATUS.ready } as never);
  await world.clock.advance(0);
  expect(world.shown()).toEqual({ c: "c" });
});

const waiting = (reason: string, name = "c") => ({
  conditions: [
    { type: "Ready", status: "False", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ],
  sandbox: { name },
});

const said = [
  ["waits for this one", waiting("DependenciesNotReady"), "DependenciesReady"],
  ["waits for its Pod", waiting("SandboxNotReady"), "DependenciesReady"],
  ["waits for another one", waiting("SandboxNotReady", "other"), "SandboxNotReady"],
  ["has something else in the way", waiting("SandboxSuspended"), "SandboxSuspended"],
] as const;
test.for(said)(
  "of a claim whose hook has said that it %s, the binder or the hook says that it is Ready",
  async (row) => {
    const [, status, want] = row;
    await begin([]);
    await world.claim("c", { spec: ENV });
    await world.clock.advance(1000);
    await world.claim("c", { spec: ENV, status });
    const [made] = world.sandboxes();
    await world.store.put({ ...made, status: STATUS.ready } as never);
    await world.clock.advance(0);
    expect(world.claims()[0]?.status?.conditions).toMatchObject([{ type: "Ready", reason: want }]);
  },
);

test("one that takes longer is left to the hook", async () => {
  await begin([]);
  await world.claim("c", { spec: ENV });
  await world.clock.advance(4000);
  const [made] = world.sandboxes();
  await world.store.put({ ...made, status: STATUS.ready } as never);
  await world.clock.advance(1000);
  expect(world.shown()).toEqual({ c: undefined });
});

test("a status that cannot be written is tried again, less and less often; the claim keeps its Sandbox", async () => {
  let isRefusing = true;
  await begin([1, 2], (request) => isRefusing ? refusing(500)(request) : undefined);
  await world.claim("c");
  const counts: number[] = [];
  for (const ms of [500, 1000, 2000, 4000]) {
    await world.clock.advance(ms);
    counts.push(told());
  }
  expect(counts).toEqual([1, 2, 3, 4]);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: undefined }]);
  expect(world.faults()).toEqual(counts.map(() => expect.stringContaining("Cannot write the status of a claim")));
  isRefusing = false;
  await world.clock.advance(60_000);
  expect([world.shares(), world.shown(), told()]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }, 5]);
});

test("a status that could not be written is not tried again once the hook has said it", async () => {
  await begin([1], refusing(500));
  await world.claim("c");
  await world.clock.advance(500);
  const status = { conditions: [], sandbox: { name: "warm-1" } };
  await world.claim("c", { status });
  await world.clock.advance(60_000);
  expect(told()).toBe(1);
  expect(world.claims()[0]?.status).toEqual(status);
});

test("what the hook has said meanwhile stays", async () => {
  const status = { conditions: [], sandbox: { name: "warm-1" } };
  const isFirst = once(isStatus);
  await begin([1], undefined, async (request, send) => {
    if (isFirst(request)) await world.claim("c", { status });
    return await send();
  });
  await world.claim("c");
  await world.clock.advance(100);
  expect(world.claims()[0]?.status).toEqual(status);
});

test("a new binder finishes what one has begun that was killed: the Sandbox is the claim's, nothing says so", async () => {
  const first = refusing(503);
  await begin([1, 2], first);
  await world.claim("c");
  await world.clock.advance(500);
  await world.stop();
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: undefined }]);
  world.asked.length = 0;
  await world.clock.advance(60_000);
  await world.binder();
  await world.clock.advance(100);
  expect([world.shares(), world.shown(), puts()]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }, []]);
});

test("a new binder says nothing of a Sandbox that is not Ready: that is the hook's", async () => {
  world = await aWorld();
  const claim = await world.claim("c");
  await world.members([1], { state: "coming" });
  await world.store.put(handedOver(world.sandboxes()[0] as Sandbox, claim, aTemplate(), new Date(world.clock.now())));
  await world.binder();
  await world.clock.advance(10_000);
  expect([world.shown(), world.claims()[0]?.status]).toEqual([{ c: undefined }, undefined]);
});

test("a new binder that cannot look at a claim's Sandbox tries again", async () => {
  await begin([1], refusing(503));
  await world.claim("c");
  await world.clock.advance(500);
  await world.stop();
  let looks = 0;
  await world.binder(({ method, path }) =>
    method === "GET" && path.endsWith("/sandboxes/warm-1") && looks++ < 2 ? broken : undefined
  );
  await world.clock.advance(2900);
  expect([looks, world.shown()]).toEqual([2, { c: undefined }]);
  await world.clock.advance(200);
  expect([looks, world.shown()]).toEqual([3, { c: "warm-1" }]);
  expect(world.faults().filter((fault) => fault.includes("Cannot look at a claim's Sandbox"))).toHaveLength(2);
});

test.for(["the binder is stopped", "the claim is gone"])("what failed is not tried again once %s", async (what) => {
  await begin([1], refusing(500));
  const claim = await world.claim("c");
  await world.clock.advance(500);
  if (what === "the claim is gone") await world.remove(claim, "SandboxClaim");
  else await world.stop();
  await world.clock.advance(60_000);
  expect(told()).toBe(1);
});
