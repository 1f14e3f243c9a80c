/** Claims are served: with a member, with a Sandbox of their own, or not yet; in one write of each. No fault comes in between. @module */
import { afterEach, expect, test } from "vitest";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { aPool, COUNTED, STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { aWorld } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const ENV = { env: [{ name: "A", value: "1" }] };
/** Of the store's first seconds. */
const YOUNG = { metadata: { creationTimestamp: "2026-01-01T00:00:00Z" } };
const writes = () => world.asked.filter((line) => !line.includes("warmpools"));
const claimOf = (name: string) => world.claims().find(({ metadata }) => metadata.name === name) as SandboxClaim;

/** Makes a world with so many Ready members, and a binder on it. */
async function begin(members: number[], options: Parameters<typeof aWorld>[0] = {}) {
  world = await aWorld(options);
  await world.members(members);
  await world.binder();
}

test("a claim gets a member with one write of that, one of its status and one of its annotations; another member takes its place", async () => {
  await begin([1, 2]);
  await world.claim("c");
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  expect(writes()).toEqual([
    "PATCH sandboxclaims/c",
    "PUT sandboxes/warm-1",
    "PUT sandboxclaims/c/status",
    "POST sandboxes",
  ]);
  expect(claimOf("c").status).toMatchObject({
    sandbox: { name: "warm-1", podIPs: ["10.1.0.7"] },
    conditions: [{ type: "Ready", status: "True", reason: "DependenciesReady" }],
  });
  const now = "2026-01-01T00:00:00.000Z";
  expect(claimOf("c").metadata.annotations).toEqual({
    "agents.x-k8s.io/sandbox-name": "warm-1",
    "agents.x-k8s.io/controller-first-observed-at": now,
    "agents.x-k8s.io/claim-first-ready-at": now,
  });
  await world.clock.advance(60_000);
  expect([writes().length, world.faults()]).toEqual([4, []]);
});

test("claims that are there before the binder are served, each with one of its own, the oldest first", async () => {
  world = await aWorld();
  await world.members([1, 2, 3]);
  for (const name of ["a", "b", "c", "d"]) await world.claim(name);
  await world.binder();
  await world.clock.advance(100);
  expect(world.shares()).toEqual({ a: ["warm-1"], b: ["warm-2"], c: ["warm-3"], d: ["d"] });
});

test("no claim is served before all kinds are listed: its Sandbox may be among what is not", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.claim("c");
  let isHeld = true;
  const starting = world.binder(({ path, query }) =>
    isHeld && query?.["limit"] && path.endsWith("/sandboxes") ? { status: 500, body: {} } : undefined
  );
  await world.clock.advance(5000);
  expect(world.shares()).toEqual({ c: [] });
  isHeld = false;
  await starting;
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

test("a claim with variables gets a Sandbox of its own, and reports nothing until that has reported its state", async () => {
  await begin([1], { template: OPEN });
  await world.claim("c", { spec: ENV });
  await world.clock.advance(0);
  expect([world.shares(), writes()]).toEqual([{ c: ["c"] }, ["POST sandboxes"]]);
  expect(world.sandboxes().find(({ metadata }) => metadata.name === "c")?.spec.podTemplate.spec.containers[0]?.env)
    .toEqual(ENV.env);
});

test("a young claim waits for a member that is coming, and gets it as it has an address", async () => {
  world = await aWorld();
  await world.members([1], { state: "coming" });
  await world.binder();
  await world.claim("c", YOUNG);
  await world.clock.advance(1500);
  expect(world.shares()).toEqual({ c: [] });
  const [member] = world.sandboxes();
  await world.store.put({ ...member, status: STATUS.ready } as never);
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

test("its patience ends after two seconds, without an event", async () => {
  world = await aWorld();
  await world.members([1], { state: "coming" });
  await world.binder();
  await world.claim("c", YOUNG);
  await world.clock.advance(1990);
  expect(world.shares()).toEqual({ c: [] });
  await world.clock.advance(20);
  expect(world.shares()).toEqual({ c: ["c"] });
});

test("a claim without a pool is served when the pool comes, one without a template when that does", async () => {
  await begin([], { pool: null, template: null });
  await world.claim("c");
  await world.clock.advance(60_000);
  await world.store.put(aPool({ status: COUNTED }));
  await world.clock.advance(60_000);
  expect(world.asked.filter((line) => line.includes("sandboxes"))).toEqual([]);
  await world.store.put(aTemplate());
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["c"] });
});

test("a claim that is refused is served once it asks for something else", async () => {
  await begin([1]);
  await world.claim("c", { spec: ENV });
  await world.clock.advance(1000);
  expect(world.shares()).toEqual({ c: [] });
  await world.claim("c");
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

test("a claim that turns to another pool is served from there, and holds nobody up where it was", async () => {
  await begin([1]);
  await world.claim("c", { spec: { warmPoolRef: { name: "none" } } });
  await world.clock.advance(1000);
  await world.claim("c");
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

const over = [
  ["expired", { spec: { lifecycle: { shutdownTime: "2025-12-31T00:00:00Z" } } }],
  ["at its end", {
    status: {
      sandbox: { name: "gone" },
      conditions: [{
        type: "Ready",
        status: "False",
        reason: "PodFailed",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      }],
    },
  }],
  ["being deleted", { metadata: { finalizers: ["x/y"] } }],
] as const;
test.for(over)("a claim that is %s is not served", async ([what, more]) => {
  world = await aWorld();
  await world.members([1]);
  const claim = await world.claim("c", more);
  if (what === "being deleted") await world.remove(claim, "SandboxClaim");
  await world.binder();
  await world.clock.advance(60_000);
  expect(world.shares()).toEqual({ c: [] });
  expect(world.asked.filter((line) => line.includes("sandboxes"))).toEqual([]);
});

test("a claim that loses its Sandbox gets another one", async () => {
  await begin([1, 2]);
  await world.claim("c");
  await world.clock.advance(0);
  await world.remove(world.sandboxes()[0], "Sandbox");
  await world.clock.advance(0);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-2"] }, { c: "warm-2" }]);
});

test("no more claims are served at once than may be, and of one pool half as many", async () => {
  world = await aWorld();
  await world.members(Array.from({ length: 50 }, (_, index) => index + 1));
  let [running, most] = [0, 0];
  for (let index = 0; index < 50; index++) await world.claim(`c-${index}`);
  await world.binder(() => undefined, async (request, send) => {
    if (request.method !== "PUT" || !request.path.includes("/sandboxes/")) return await send();
    most = Math.max(most, ++running);
    await new Promise<void>((fulfil) => world.clock.setTimeout(fulfil, 10));
    running--;
    return await send();
  });
  await world.clock.advance(1000);
  expect([most, Object.values(world.shares()).flat().length]).toEqual([20, 50]);
});

test("a claim that goes while it waits leaves the line", async () => {
  world = await aWorld();
  await world.members([1], { state: "coming" });
  await world.binder();
  await world.remove(await world.claim("c", YOUNG), "SandboxClaim");
  await world.clock.advance(60_000);
  expect(world.sandboxes()).toHaveLength(1);
});
