/** Who says what a claim was given: the binder soon and for a moment, tried again where it fails; else the hook. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../api/sandbox.ts";
import { handedOver } from "../../binder/handover.ts";
import type { ApiFault } from "../../testing/api/memoryapi.ts";
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

const OBSERVED = "agents.x-k8s.io/controller-first-observed-at";
const SANDBOX_NAME = "agents.x-k8s.io/sandbox-name";
const annotated = () => world.asked.filter((line) => line === "PATCH sandboxclaims/c").length;
/** The claim's Sandbox says all that it would, as its hook does after a hand-over. */
async function settleSandbox(): Promise<void> {
  const own = world.sandboxes().find(({ metadata }) => metadata.name === "warm-1");
  const { generation = 1 } = own?.metadata ?? {};
  const conditions = (own?.status?.conditions ?? []).map((one) => ({ ...one, observedGeneration: generation }));
  await world.store.put({ ...own, status: { ...own?.status, conditions } } as never);
}
const notesOf = (index = 0) => world.claims()[index]?.metadata.annotations ?? {};

test("a claim that is served is annotated once, with all there is to say", async () => {
  await begin([1, 2]);
  await world.claim("c");
  await world.clock.advance(500);
  expect(annotated()).toBe(1);
  expect(Object.keys(notesOf()).toSorted()).toEqual([
    "agents.x-k8s.io/claim-first-ready-at",
    OBSERVED,
    SANDBOX_NAME,
  ]);
});

test("its hook is asked once the Sandbox has settled: of that event it would be asked again", async () => {
  await begin([1, 2]);
  await world.claim("c");
  await world.clock.advance(100);
  expect([world.shown(), annotated()]).toEqual([{ c: "warm-1" }, 0]);
  await settleSandbox();
  await world.clock.advance(0);
  expect(annotated()).toBe(1);
  await world.clock.advance(60_000);
  expect(annotated()).toBe(1);
});

test("a Sandbox that has settled before its claim is told does not delay anything", async () => {
  const isFirst = once(isStatus);
  await begin([1, 2], undefined, async (request, send) => {
    if (isFirst(request)) await settleSandbox();
    return await send();
  });
  await world.claim("c");
  await world.clock.advance(0);
  expect([world.shown(), annotated()]).toEqual([{ c: "warm-1" }, 1]);
});

test("one whose Sandbox is not Ready yet is annotated, so that its hook is asked", async () => {
  await begin([]);
  await world.claim("c", { spec: ENV });
  await world.clock.advance(0);
  expect(notesOf()).toMatchObject({ [OBSERVED]: expect.any(String), [SANDBOX_NAME]: "c" });
});

test.for([
  { name: "asks for bad metadata", spec: { additionalPodMetadata: { labels: { plain: "1" } } } },
  { name: "has expired", spec: { lifecycle: { shutdownTime: "2020-01-01T00:00:00Z" } } },
  { name: "names a pool that does not exist", spec: { warmPoolRef: { name: "none" } } },
])("one that cannot be served ($name) is annotated, once", async ({ spec }) => {
  await begin([1]);
  await world.claim("c", { spec });
  await world.clock.advance(100);
  expect(world.shares()).toEqual({ c: [] });
  expect(Object.keys(notesOf())).toEqual([OBSERVED]);
  await world.members([2]);
  await world.clock.advance(60_000);
  expect(world.asked.filter((line) => line === "PATCH sandboxclaims/c")).toHaveLength(1);
});

test("one that a binder has served and not annotated is annotated by the next", async () => {
  await begin([1, 2], (request) => request.method === "PATCH" ? { status: 500, body: {} } : undefined);
  await world.claim("c");
  await world.clock.advance(100);
  expect([world.shown(), notesOf()]).toEqual([{ c: "warm-1" }, {}]);
  await world.binder();
  await world.clock.advance(100);
  expect(notesOf()).toMatchObject({ [OBSERVED]: expect.any(String), [SANDBOX_NAME]: "warm-1" });
});

test("one that has been taken note of is not annotated anew", async () => {
  await begin([1]);
  const noted = { annotations: { [OBSERVED]: "2026-01-01T00:00:00.000Z" } };
  await world.claim("c", { metadata: noted, spec: { warmPoolRef: { name: "none" } } });
  await world.clock.advance(1000);
  expect(world.asked.filter((line) => line.startsWith("PATCH sandboxclaims"))).toEqual([]);
});
