/** The binder copies a pool's default lifecycle into a claim before it binds the claim, and never afterwards. @module */
import { afterEach, expect, test } from "vitest";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aPool, COUNTED, type Over } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { aWorld } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const GIVEN = { shutdownPolicy: "Delete", ttlSecondsAfterFinished: 10 };
const withDefaults = (lifecycle: object = GIVEN) => aPool({ status: COUNTED, spec: { claimDefaults: { lifecycle } } });
const lifecycleOf = (name: string) => world.claims().find(({ metadata }) => metadata.name === name)?.spec.lifecycle;

async function served(
  over: Over = {},
  { pool = withDefaults(), members = [1], fault = (() => undefined) as ApiFault } = {},
) {
  world = await aWorld({ pool });
  await world.members(members);
  await world.binder(fault);
  await world.claim("c", over);
  await world.clock.advance(5000);
}

test.for([
  { name: "a member", members: [1], want: "warm-1" },
  { name: "a Sandbox of its own", members: [], want: "c" },
])("a claim that gets $name has the pool's lifecycle before it has that", async ({ members, want }) => {
  await served({}, { members });
  expect(world.shares()).toEqual({ c: [want] });
  expect(lifecycleOf("c")).toEqual(GIVEN);
  const writes = world.asked.filter((line) => !line.startsWith("GET"));
  const isGift = (line: string) => line === "PATCH sandboxclaims/c";
  const isBinding = (line: string) => /^(PUT sandboxes\/warm-1|POST sandboxes)$/.test(line);
  expect(writes.findIndex(isGift)).toBeLessThan(writes.findIndex(isBinding));
});

test.for<[name: string, over: Over, pool: ReturnType<typeof aPool>, want: object | undefined]>([
  ["its own lifecycle keeps that", { spec: { lifecycle: { shutdownPolicy: "Retain" } } }, withDefaults(), {
    shutdownPolicy: "Retain",
  }],
  ["none, of a pool without defaults, has none", {}, aPool({ status: COUNTED }), undefined],
  ["none gets no absolute time", {}, withDefaults({ ...GIVEN, shutdownTime: "2020-01-01T00:00:00Z" }), GIVEN],
])("a claim with %s", async ([, over, pool, want]) => {
  await served(over, { pool });
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  expect(lifecycleOf("c")).toEqual(want);
});

test("a claim that has its Sandbox is left alone when its pool gets defaults", async () => {
  await served({}, { pool: aPool({ status: COUNTED }) });
  const [pool] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool");
  await world.store.put({ ...pool!, spec: withDefaults().spec });
  await world.clock.advance(60_000);
  expect(lifecycleOf("c")).toBeUndefined();
});

test("a claim whose owner has changed it since then keeps what the owner wrote", async () => {
  const own = { shutdownPolicy: "Retain" };
  let isFirst = true;
  const fault: ApiFault = ({ method, path, body }) => {
    const isGift = method === "PATCH" && path.endsWith("/sandboxclaims/c") && "spec" in (body as object);
    if (!isGift || !isFirst) return undefined;
    isFirst = false;
    const [claim] = world.claims();
    void world.store.put({ ...claim!, spec: { ...claim!.spec, lifecycle: own } } as never);
    return { status: 409, body: { message: "the object has been modified" } };
  };
  await served({}, { fault });
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  expect(lifecycleOf("c")).toEqual(own);
});

test("a refusal is reported, costs no member, and is tried again", async () => {
  let isRefusing = true;
  const fault: ApiFault = ({ method, body }) => {
    const isGift = method === "PATCH" && "spec" in ((body ?? {}) as object);
    return isGift && isRefusing ? { status: 403, body: { message: "no" } } : undefined;
  };
  await served({}, { fault });
  expect(world.shares()).toEqual({ c: [] });
  expect(world.ready()).toEqual({
    c: "False ReconcilerError Error seen: set the lifecycle of spec.claimDefaults: no",
  });
  isRefusing = false;
  await world.clock.advance(60_000);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  expect(lifecycleOf("c")).toEqual(GIVEN);
});

const LONG = "n".repeat(64);

test("a claim whose name is too long for a Sandbox with a Service reports that, and no Sandbox is made", async () => {
  world = await aWorld({ template: aTemplate({ spec: { service: true } }) });
  await world.binder();
  await world.claim(LONG);
  await world.claim("n".repeat(63));
  await world.clock.advance(5000);
  expect(world.ready()[LONG]).toMatch(
    /^False InvalidConfiguration .* is invalid: metadata\.name must be no more than 63 characters when spec\.service/,
  );
  expect(world.shares()).toEqual({ [LONG]: [], ["n".repeat(63)]: ["n".repeat(63)] });
});

test("the same claim gets a member of the pool, whose name is short", async () => {
  world = await aWorld({ template: aTemplate({ spec: { service: true } }) });
  await world.members([1]);
  await world.binder();
  await world.claim(LONG);
  await world.clock.advance(5000);
  expect(world.shares()).toEqual({ [LONG]: ["warm-1"] });
});
