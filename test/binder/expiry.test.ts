/** Claims that expire without a Sandbox report it at that moment, and are not served any more. @module */
import { afterEach, expect, test } from "vitest";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { aPool, COUNTED, STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { startBinder } from "../../packages/testing/processes.ts";
import { aWorld, broken } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const EXPIRED = "False ClaimExpired Claim expired. Sandbox cleanup initiated.";
const MISSING = "False SandboxMissing Sandbox does not exist";
const NO_POOL = 'False WarmPoolNotFound SandboxWarmPool "warm" not found';
const ofClaim = () => world.asked.filter((line) => line.includes("sandboxclaims/c"));
const types = () => world.claims()[0]?.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`);

/** Returns the lifecycle of a claim that expires so many milliseconds from now. */
const inMs = (ms: number, shutdownPolicy = "Delete") => ({
  spec: { lifecycle: { shutdownTime: new Date(world.clock.now() + ms).toISOString(), shutdownPolicy } },
});

test.for(
  [
    ["before it has reported why it is not served", 1000, []],
    ["after that", 60_000, [NO_POOL]],
  ] as const,
)("a waiting claim that expires %s reports that at the moment", async ([, ms, before]) => {
  world = await aWorld({ pool: null });
  await world.binder();
  const versions = world.versionsOf("c");
  await world.claim("c", inMs(ms));
  await world.clock.advance(ms - 1);
  expect(versions).toEqual([undefined, ...before]);
  await world.clock.advance(1);
  expect([world.ready(), types()]).toEqual([{ c: EXPIRED }, ["Ready ClaimExpired"]]);
  await world.store.put(aPool({ status: COUNTED }));
  await world.members([1]);
  await world.clock.advance(60_000);
  expect([world.shares(), versions]).toEqual([{ c: [] }, [undefined, ...before, EXPIRED]]);
});

test("a waiting claim whose expiry is put off reports nothing at the time that it had before", async () => {
  world = await aWorld({ pool: null });
  await world.binder();
  await world.claim("c", inMs(10_000));
  await world.clock.advance(5000);
  await world.claim("c", { ...inMs(60_000), metadata: { generation: 2 } });
  await world.clock.advance(59_000);
  expect(world.ready()).toEqual({ c: NO_POOL });
  await world.clock.advance(1000);
  expect(world.ready()).toEqual({ c: EXPIRED });
});

test("an expiry that cannot be reported is reported later", async () => {
  let isDown = true;
  world = await aWorld({ pool: null });
  await world.binder(({ path }) => isDown && path.endsWith("/status") ? broken : undefined);
  await world.claim("c", inMs(10_000));
  await world.clock.advance(60_000);
  expect(world.ready()).toEqual({ c: undefined });
  isDown = false;
  await world.clock.advance(60_000);
  expect(world.ready()).toEqual({ c: EXPIRED });
});

test("a claim that expires while it is bound is left to its hook", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  await world.binder();
  await world.claim("c", inMs(10_000));
  await world.clock.advance(100);
  const [before] = world.claims();
  world.asked.length = 0;
  await world.clock.advance(60_000);
  expect([world.claims(), ofClaim()]).toEqual([[before], []]);
});

test("a claim that expires while it is read, because its Sandbox is gone, reports that", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.binder(undefined, async ({ method, path }, send) => {
    const answer = await send();
    // The report that it has no Sandbox is written by now: this is read to choose the next one.
    const isRead = method === "GET" && path.endsWith("/sandboxclaims/c") && world.ready()["c"] === MISSING;
    if (isRead) await new Promise<void>((resolve) => world.clock.setTimeout(resolve, 10_000));
    return answer;
  });
  await world.claim("c", inMs(5000));
  await world.clock.advance(100);
  await world.remove(world.sandboxes().find(({ metadata }) => metadata.name === "warm-1"), "Sandbox");
  await world.clock.advance(60_000);
  expect([world.ready(), world.shares()]).toEqual([{ c: EXPIRED }, { c: [] }]);
});

test("a claim that expires while its Sandbox starts is bound at once: its hook is to delete that", async () => {
  world = await aWorld();
  await world.binder();
  await world.claim("c", inMs(10_000, "Retain"));
  await world.clock.advance(9000);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["c"] }, { c: undefined }]);
  await world.clock.advance(1000);
  expect([world.shown(), world.ready()]).toEqual([{ c: "c" }, { c: EXPIRED }]);
});

test("a claim that has expired and whose Sandbox is gone names none, and keeps Finished", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  await world.binder();
  await world.claim("c", inMs(10_000, "Retain"));
  await world.clock.advance(10_000);
  const [claim] = world.claims();
  const [, finished] = STATUS.finished.conditions;
  const ready = { ...STATUS.finished.conditions[0]!, reason: "ClaimExpired", message: EXPIRED.slice(19) };
  const status = { ...claim!.status, conditions: [finished, ready] } as NonNullable<SandboxClaim["status"]>;
  await world.store.put({ ...claim!, status } as never);
  await world.remove(world.sandboxes()[0], "Sandbox");
  await world.clock.advance(60_000);
  expect([world.shares(), world.shown(), world.ready()]).toEqual([{ c: [] }, { c: undefined }, { c: EXPIRED }]);
  expect(types()).toEqual(["Finished PodFailed", "Ready ClaimExpired"]);
});

test("a claim that has finished and whose Sandbox is gone expires in time: else nobody would delete it", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  await world.binder();
  await world.claim("c", { spec: { lifecycle: { ttlSecondsAfterFinished: 3600, shutdownPolicy: "Delete" } } });
  await world.clock.advance(100);
  const finished = STATUS.finished.conditions.map((each) => ({
    ...each,
    lastTransitionTime: new Date(world.clock.now() - 100).toISOString().replace(".000Z", "Z"),
  }));
  await world.store.put({ ...world.sandboxes()[0], status: { conditions: finished } } as never);
  await world.remove(world.sandboxes()[0], "Sandbox");
  await world.clock.advance(3_599_000);
  expect([types(), world.shares()]).toEqual([["Finished PodFailed", "Ready PodFailed"], { c: [] }]);
  await world.clock.advance(1000);
  expect([types(), world.shares()]).toEqual([["Finished PodFailed", "Ready ClaimExpired"], { c: [] }]);
});

test("a claim that has expired is given no Sandbox, though members and template are there", async () => {
  world = await aWorld({ template: aTemplate() });
  await world.members([1]);
  await world.binder();
  await world.claim("c", inMs(0));
  await world.clock.advance(0);
  expect([world.ready(), ofClaim()]).toEqual([{ c: EXPIRED }, ["PATCH sandboxclaims/c", "PUT sandboxclaims/c/status"]]);
  await world.clock.advance(60_000);
  expect([world.shares(), ofClaim().length]).toEqual([{ c: [] }, 2]);
});

test.for([3_600_000, -3_600_000])("the API server's clock decides, though the binder's is %i ms off", async (ms) => {
  world = await aWorld();
  await world.members([1]);
  const server = world.server.connect();
  const api = { ...server, now: () => world.clock.now() };
  const clock = { ...world.clock, now: () => world.clock.now() + ms };
  const binder = startBinder(api, clock);
  await binder.listed;
  await world.claim("c", inMs(20_000));
  await world.clock.advance(1000);
  expect(world.shown()).toEqual({ c: "warm-1" });
  await world.claim("d", inMs(-1000));
  await world.clock.advance(1000);
  expect([world.shares()["d"], world.ready()["d"]]).toEqual([[], EXPIRED]);
  await binder.stop();
});
