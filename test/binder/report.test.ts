/** The binder writes the status that binds a claim, once its Sandbox has reported: when, and how it tries again. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
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
const isOfClaim = (line: string) => line.includes("sandboxclaims/c");
const statusWrites = () => world.asked.filter((line) => line === "PUT sandboxclaims/c/status").length;

/** Makes a world with so many Ready members, and a binder on it. */
async function begin(members: number[], ...binder: Parameters<typeof world.binder>) {
  world = await aWorld({ template: OPEN });
  await world.members(members);
  await world.binder(...binder);
}

/** Has the claim's Sandbox report a state. */
async function report(state: keyof typeof STATUS) {
  const sandbox = world.sandboxes().find(({ metadata }) => metadata.name === world.shares()["c"]?.[0]);
  await world.store.put({ ...sandbox, status: STATUS[state] } as never);
  await world.clock.advance(0);
}

const reports = [
  ["ready", "True DependenciesReady Pod is Ready"],
  ["coming", "False DependenciesNotReady Pod is not Ready"],
  ["finished", "False PodFailed Pod has failed"],
  ["suspended", "False SandboxSuspended Sandbox is suspended"],
  ["readyWithoutAddress", "False SandboxNotReady Sandbox is not ready"],
] as const;
test.for(reports.flatMap(([state, ready]) => [1, 3600].map((seconds) => ({ state, ready, seconds }))))(
  "a claim is bound as soon as its Sandbox has reported its state: $state after $seconds seconds",
  async ({ state, ready, seconds }) => {
    await begin([]);
    await world.claim("c", { spec: ENV });
    await world.clock.advance(seconds * 1000);
    expect([world.shares(), world.claims()[0]?.status]).toEqual([{ c: ["c"] }, undefined]);
    expect(world.asked.filter(isOfClaim)).toEqual([]);
    await report(state);
    expect([world.shown(), world.ready()]).toEqual([{ c: "c" }, { c: ready }]);
    expect(world.asked.filter(isOfClaim)).toEqual(["PATCH sandboxclaims/c", "PUT sandboxclaims/c/status"]);
  },
);

test("what becomes of a claim's Sandbox after that is not written by the binder", async () => {
  await begin([1]);
  await world.claim("c");
  await world.clock.advance(10_000);
  const status = world.claims()[0]?.status;
  world.asked.length = 0;
  for (const state of ["coming", "ready", "suspended", "finished", "none"] as const) {
    await report(state);
    await world.clock.advance(10_000);
  }
  expect([world.claims()[0]?.status, world.asked.filter(isOfClaim)]).toEqual([status, []]);
});

test("a claim whose status reports something that is over is bound before its Sandbox has reported", async () => {
  world = await aWorld({ template: null });
  await world.binder();
  await world.claim("c", { spec: ENV });
  await world.clock.advance(2000);
  expect(world.ready()).toEqual({ c: 'False TemplateNotFound SandboxTemplate "python" not found' });
  const [claim] = world.claims();
  await world.members([1], { state: "none" });
  await world.store.put(boundMember(world.sandboxes()[0] as Sandbox, claim!, aTemplate(), new Date(0)));
  await world.clock.advance(0);
  expect([world.shown(), world.ready()]).toEqual([{ c: "warm-1" }, {
    c: "False SandboxNotReady Sandbox is not ready",
  }]);
});

test("a status that cannot be written is tried again, less and less often; the claim keeps its Sandbox", async () => {
  let isRefusing = true;
  await begin([1, 2], (request) => isRefusing ? refusing(500)(request) : undefined);
  await world.claim("c");
  const counts: number[] = [];
  for (const ms of [500, 1000, 2000, 4000]) {
    await world.clock.advance(ms);
    counts.push(statusWrites());
  }
  expect(counts).toEqual([1, 2, 3, 4]);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: undefined }]);
  expect(world.faults()).toEqual(counts.map(() => expect.stringContaining("Cannot write the status of a claim")));
  isRefusing = false;
  await world.clock.advance(60_000);
  expect([world.shares(), world.shown(), statusWrites()]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }, 5]);
});

test("what is heard of a Sandbox has a status that failed tried no sooner, and then says what holds", async () => {
  const isFirst = once(isStatus);
  await begin([1], (request) => isFirst(request) ? { status: 500, body: {} } : undefined);
  await world.claim("c");
  await world.clock.advance(100);
  for (const state of ["ready", "coming", "suspended"] as const) await report(state);
  expect([statusWrites(), world.shown()]).toEqual([1, { c: undefined }]);
  await world.clock.advance(1000);
  expect([statusWrites(), world.ready()]).toEqual([2, { c: "False SandboxSuspended Sandbox is suspended" }]);
});

test("a status that could not be written is not tried again once the claim is bound by another binder", async () => {
  await begin([1], refusing(500));
  await world.claim("c");
  await world.clock.advance(500);
  const status = { conditions: [], sandbox: { name: "warm-1" } };
  await world.claim("c", { status });
  await world.clock.advance(60_000);
  expect([statusWrites(), world.claims()[0]?.status]).toEqual([1, status]);
});

test("a status that another binder has written since then stays", async () => {
  const status = { conditions: [], sandbox: { name: "warm-1" } };
  const isFirst = once(isStatus);
  await begin([1], undefined, async (request, send) => {
    if (isFirst(request)) await world.claim("c", { status });
    return await send();
  });
  await world.claim("c");
  await world.clock.advance(60_000);
  expect([world.claims()[0]?.status, statusWrites()]).toEqual([status, 1]);
});

test.for([1, 10])(
  "the binder binds a claim whose owner changes it %d times while the binder writes its status",
  async (times) => {
    let changes = 0;
    await begin([1], undefined, async (request, send) => {
      if (isStatus(request) && changes++ < times) {
        await world.claim("c", { metadata: { labels: { mine: `${changes}` } } });
      }
      return await send();
    });
    await world.claim("c");
    await world.clock.advance(0);
    const [claim] = world.claims();
    expect([world.shown(), claim?.metadata.labels]).toEqual([{ c: "warm-1" }, { mine: `${times}` }]);
    expect(statusWrites()).toBe(times + 1);
  },
);

test("a new binder binds a claim whose Sandbox another one has given, and gives it no other", async () => {
  await begin([1, 2], refusing(503));
  await world.claim("c");
  await world.clock.advance(500);
  await world.stop();
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: undefined }]);
  world.asked.length = 0;
  await world.clock.advance(60_000);
  await world.binder();
  await world.clock.advance(100);
  const puts = world.asked.filter((line) => line.startsWith("PUT sandboxes/"));
  expect([world.shares(), world.shown(), puts]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }, []]);
});

test.for([{ state: "none", want: undefined }, { state: "coming", want: "warm-1" }] as const)(
  "a new binder finds a Sandbox that has reported $state: the claim names $want",
  async ({ state, want }) => {
    world = await aWorld();
    const claim = await world.claim("c");
    await world.members([1], { state });
    await world.store.put(
      boundMember(world.sandboxes()[0] as Sandbox, claim, aTemplate(), new Date(world.clock.now())),
    );
    await world.binder();
    await world.clock.advance(10_000);
    expect(world.shown()).toEqual({ c: want });
    if (want === undefined) expect(world.asked.filter(isOfClaim)).toEqual([]);
  },
);

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
});

test.for(["the binder is stopped", "the claim is gone"])("what failed is not tried again once %s", async (what) => {
  await begin([1], refusing(500));
  const claim = await world.claim("c");
  await world.clock.advance(500);
  if (what === "the claim is gone") await world.remove(claim, "SandboxClaim");
  else await world.stop();
  await world.clock.advance(60_000);
  expect(statusWrites()).toBe(1);
});

test("a claim whose annotations an admission policy removes is bound as soon as that ends, without another event", async () => {
  let isStripped = true;
  await begin([1], (request) => {
    const isAnnotation = request.method === "PATCH" && request.path.endsWith("/sandboxclaims/c");
    return isStripped && isAnnotation ? { status: 200, body: world.claims()[0] } : undefined;
  });
  await world.claim("c");
  await world.clock.advance(10_000);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: undefined }]);
  expect(world.faults()[0]).toMatch(/^binder: Cannot write the status of a claim/);
  const { length } = world.asked.filter(isOfClaim);
  expect(length, "with a growing delay").toBeLessThan(16);
  isStripped = false;
  await world.clock.advance(31_000);
  expect([world.shown(), world.ready()["c"]]).toEqual([{ c: "warm-1" }, "True DependenciesReady Pod is Ready"]);
});
