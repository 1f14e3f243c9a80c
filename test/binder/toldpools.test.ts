/** What the binder writes on pools: that claims have taken members which nobody has replaced, or that they are short. @module */
import { afterEach, expect, test } from "vitest";
import { aPool, COUNTED } from "../pools.ts";
import { aWorld } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

function notesOfPool(): string[] {
  const [pool] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool");
  return Object.keys((pool as unknown as ReturnType<typeof aPool>).metadata.annotations ?? {});
}

test("on a pool whose member nobody replaces, the binder writes what it lacks, and changes nothing else", async () => {
  world = await aWorld({ pool: aPool({ status: { ...COUNTED, replicas: 3, readyReplicas: 3 } }) });
  await world.members([1, 2, 3]);
  await world.binder(({ method }) => method === "POST" ? { status: 403, body: { message: "quota" } } : undefined);
  await world.clock.advance(60_000);
  expect(world.asked).toEqual([]);
  await world.claim("c");
  await world.clock.advance(1000);
  expect(world.asked.filter((line) => line.includes("warmpools"))).toEqual(["PATCH sandboxwarmpools/warm"]);
  const [pool] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool");
  const { metadata: { annotations }, spec } = pool as unknown as ReturnType<typeof aPool>;
  expect(annotations).toEqual({
    "agents.x-k8s.io/handed-over-at": expect.any(String),
    "agents.x-k8s.io/missing-members": "1",
  });
  expect(spec.replicas).toBe(3);
});

test("a pool that is short without having lost any to claims is woken, which does not say that it has", async () => {
  world = await aWorld({ pool: aPool({ status: { ...COUNTED, replicas: 2, readyReplicas: 2 } }) });
  await world.members([1, 2]);
  await world.binder();
  await world.clock.advance(10_000);
  expect(notesOfPool()).toEqual(["agents.x-k8s.io/woken-at"]);
});

test("what could not be written on a pool is written when that can be done", async () => {
  world = await aWorld({ pool: aPool({ status: { ...COUNTED, replicas: 3, readyReplicas: 3 } }) });
  await world.members([1, 2, 3]);
  let isDown = true;
  await world.binder(({ method, path }) => {
    if (method === "POST" || (isDown && method === "PATCH" && path.includes("warmpools"))) {
      return { status: 503, body: { message: "try again" } };
    }
    return undefined;
  });
  await world.claim("c");
  await world.clock.advance(1000);
  isDown = false;
  await world.clock.advance(5000);
  expect(notesOfPool()).toEqual(["agents.x-k8s.io/handed-over-at", "agents.x-k8s.io/missing-members"]);
});

test("members that a binder before this one has bound are written on the pool", async () => {
  world = await aWorld({ pool: aPool({ status: { ...COUNTED, replicas: 3, readyReplicas: 3 } }) });
  await world.members([1, 2, 3]);
  const isUntold: Parameters<typeof world.binder>[0] = ({ method, path }) =>
    method === "POST" || path.includes("warmpools/") ? { status: 503, body: { message: "try again" } } : undefined;
  const first = await world.binder(isUntold);
  await world.claim("c");
  await world.clock.advance(40);
  await first.stop();
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  await world.binder();
  await world.clock.advance(2000);
  expect(notesOfPool()).toEqual(["agents.x-k8s.io/handed-over-at", "agents.x-k8s.io/missing-members"]);
});

test("a pool that ends while its member is bound leaves nothing behind for the next one of its name", async () => {
  world = await aWorld();
  const { store, clock } = world;
  await world.members([1]);
  const pools = await store.resource("extensions.agents.x-k8s.io/v1beta1", "sandboxwarmpools");
  await world.binder(undefined, async (request, send) => {
    const isPut = request.method === "PUT" && request.path.endsWith("/sandboxes/warm-1");
    const answer = await send();
    if (isPut) await store.delete(pools, "team-a", "warm", {});
    // The watch shows it before the answer comes.
    if (isPut) await new Promise<void>((fulfil) => clock.setTimeout(fulfil, 10));
    return answer;
  });
  await world.claim("c");
  await clock.advance(1000);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
  await store.put(aPool({ metadata: { uid: "uid-next" }, status: COUNTED }));
  await clock.advance(10_000);
  expect(notesOfPool()).toEqual(["agents.x-k8s.io/woken-at"]);
});

test("nothing about the old pool's members is written on a pool that was created again under its name", async () => {
  world = await aWorld({ pool: aPool({ status: { ...COUNTED, replicas: 3, readyReplicas: 3 } }) });
  await world.members([1, 2, 3]);
  const isPool = ({ method, path }: { method: string; path: string }) =>
    method === "PATCH" && path.includes("warmpools");
  const told: unknown[] = [];
  await world.binder((request) => {
    if (isPool(request)) told.push((request.body as { metadata: object }).metadata);
    return request.method === "POST" ? { status: 403, body: { message: "quota" } } : undefined;
  });
  const [pool] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool");
  await world.claim("c");
  await world.clock.advance(1000);
  expect(told, "the API server refuses it for another UID").toMatchObject([{ uid: pool?.metadata.uid }]);
});
