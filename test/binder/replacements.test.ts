/** What replaces a member that is bound: one like it, once, and only where the pool would make the same. @module */
import { afterEach, describe, expect, test } from "vitest";
import { replacementOf } from "../../packages/binder/replacements.ts";
import { appliedOf } from "../../hooks/sandboxwarmpool/applied.ts";
import { applyUpdate } from "../../packages/api/objects/apply.ts";
import { aMember, aPool, COUNTED, type Seen } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { type Around, aWorld, losing } from "./world.ts";

/** By UID alone: any binder that makes the replacement of that member, now or after a restart, asks for this name. */
const NAME = "warm-82108be652c53c81";
const UID = "8278cf2f-c5d1-4f00-a000-000000000001";

/** A member as Metacontroller has made it. */
function theMember(seen: Seen = {}) {
  const metadata = { namespace: "team-a", labels: { "controller-uid": "uid-warm" }, ...seen.applied?.metadata };
  return aMember(7, { ...seen, applied: { ...seen.applied, metadata }, metadata: { uid: UID, ...seen.metadata } });
}

describe("replacementOf()", () => {
  test("is as the pool would make it, named after the member that it follows", () => {
    const { metadata, spec } = replacementOf(theMember(), aPool(), aTemplate()) ?? {};
    expect(metadata?.name).toBe(NAME);
    const { name, annotations, ...rest } = appliedOf(theMember(), aPool()).metadata;
    const { "agents.x-k8s.io/pool-sequence": place, ...kept } = annotations ?? {};
    expect([name, place]).toEqual(["warm-7", "7/7"]);
    const { "metacontroller.k8s.io/last-applied-configuration": text = "", ...own } = metadata?.annotations ?? {};
    expect({ ...metadata, annotations: own }).toEqual({
      ...rest,
      name: NAME,
      annotations: { ...kept, "agents.x-k8s.io/pod-name": NAME },
    });
    expect(spec).toEqual({ podTemplate: theMember().spec.podTemplate });
    expect(JSON.parse(text)).toEqual({ ...JSON.parse(text), metadata: { ...metadata, annotations: own }, spec });
  });

  test("leaves Metacontroller nothing to write, and has a replacement of its own", () => {
    const first = replacementOf(theMember(), aPool(), aTemplate());
    const made = { ...aMember(1), ...first, metadata: { ...first?.metadata, uid: "b-b-b" } } as ReturnType<
      typeof aMember
    >;
    const applied = appliedOf(made, aPool());
    expect(applyUpdate(made, applied)).toEqual(made);
    expect(replacementOf(made, aPool(), aTemplate())?.metadata.name).toBe("warm-569e1ae1595bba00");
  });

  const others = [
    ["the template has other labels", theMember(), aPool(), {
      podTemplate: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "main", image: "python" }] } },
    }],
    ["the template has another image", theMember(), aPool(), {
      podTemplate: { spec: { containers: [{ name: "main", image: "ruby" }] } },
    }],
    ["the pool is another shard's", theMember(), aPool({ metadata: { labels: { "agents.x-k8s.io/shard": "b" } } }), {}],
    ["another pool of that name has come", theMember(), aPool({ metadata: { uid: "new" } }), {}],
    [
      "the hook says more of its members",
      theMember({ applied: { metadata: { annotations: { more: "1" } } } }),
      aPool(),
      {},
    ],
    ["another controller has made it", aMember(7, { applied: null, metadata: { uid: UID } }), aPool(), {}],
  ] as const;
  test.for(others)("is the pool hook's business where %s", ([, member, pool, spec]) => {
    expect(replacementOf(member, pool, aTemplate({ spec }))).toBeUndefined();
  });
});

let world: Awaited<ReturnType<typeof aWorld>>;
const posts = () => world.asked.filter((line) => line === "POST sandboxes").length;
const names = () => world.sandboxes().map(({ metadata }) => metadata.name).toSorted();
const told = () => world.asked.filter((line) => line === "PATCH sandboxwarmpools/warm").length;
const FULL = { status: { ...COUNTED, replicas: 3, readyReplicas: 3 } };

/** The status of a claim is written that much later. */
const SLOW_MS = 1500;
const slow: Around = async ({ path }, send) => {
  if (path.endsWith("/status")) await new Promise<void>((fulfil) => world.clock.setTimeout(fulfil, SLOW_MS));
  return await send();
};

async function begin(members: number[], pool = aPool(FULL), ...binder: Parameters<typeof world.binder>) {
  world = await aWorld({ pool });
  await world.members(members);
  await world.binder(...binder);
}

describe("a member that is bound", () => {
  afterEach(() => world.stop());

  test("each member that is bound has one replacement, and the pool is not requeued for it", async () => {
    await begin([1, 2, 3]);
    for (const name of ["a", "b"]) await world.claim(name);
    await world.clock.advance(3000);
    expect([posts(), names().length, told()]).toEqual([2, 5, 0]);
    expect(world.faults()).toEqual([]);
  });

  test("the pool is not asked to make another while the claim's status is being written", async () => {
    await begin(
      [1],
      aPool({ spec: { replicas: 1 }, status: { ...COUNTED, replicas: 1, readyReplicas: 1 } }),
      undefined,
      slow,
    );
    await world.claim("a");
    await world.clock.advance(SLOW_MS - 100);
    expect([posts(), told()]).toEqual([0, 0]);
    await world.clock.advance(1000);
    expect([posts(), names().length, told()]).toEqual([1, 2, 0]);
  });

  test("the pool is requeued as soon as a replacement that it counted on was refused", async () => {
    const isPost = ({ method }: { method: string }) => method === "POST";
    await begin(
      [1],
      aPool({ spec: { replicas: 1 }, status: { ...COUNTED, replicas: 1, readyReplicas: 1 } }),
      (request) => isPost(request) ? { status: 403, body: {} } : undefined,
      slow,
    );
    await world.claim("a");
    await world.clock.advance(SLOW_MS + 50);
    expect([posts(), told()]).toEqual([1, 1]);
  });

  test("a claim that waits for its next try, somewhere else, keeps nobody from making replacements", async () => {
    const quota: ApiFault = ({ method, path, body }) => {
      const isStuck = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name === "stuck";
      return method === "POST" && path.endsWith("/sandboxes") && isStuck
        ? { status: 403, body: { message: "exceeded quota" } }
        : undefined;
    };
    await begin([1, 2, 3], aPool(FULL), quota);
    await world.store.put(aPool({ metadata: { name: "cold", uid: "uid-cold" }, spec: { replicas: 0 } }));
    await world.claim("stuck", { spec: { warmPoolRef: { name: "cold" } } });
    await world.clock.advance(60_000);
    const before = posts();
    await world.claim("a");
    await world.clock.advance(500);
    expect([posts() - before, told()]).toEqual([1, 0]);
  });

  test("a pool that has as many as it wants gets none", async () => {
    await begin([1, 2, 3], aPool({ spec: { replicas: 2 }, ...FULL }));
    await world.claim("a");
    await world.clock.advance(1000);
    expect(posts()).toBe(0);
  });

  test("while others can be served nobody makes replacements: claims go first, and the pool is requeued", async () => {
    const many = Array.from({ length: 100 }, (_, index) => index + 1);
    const pool = aPool({ spec: { replicas: 100 }, status: { ...COUNTED, replicas: 100, readyReplicas: 100 } });
    await begin(many, pool, undefined, async ({ method }, send) => {
      if (method === "PUT") await new Promise<void>((fulfil) => world.clock.setTimeout(fulfil, 10));
      return await send();
    });
    await Promise.all(many.map((number) => world.claim(`c-${number}`)));
    await world.clock.advance(1000);
    expect(Object.keys(world.shares())).toHaveLength(100);
    // The last ones that are served, for which nobody waits.
    expect(posts()).toBe(20);
    expect(told()).toBeGreaterThan(0);
  });

  test("claims that wait for members of their pool keep nobody from making replacements", async () => {
    await begin([1], aPool({ spec: { replicas: 2 }, status: { ...COUNTED, replicas: 2, readyReplicas: 1 } }));
    const coming = { state: "coming", age: 0 } as const;
    await world.members([2], coming);
    const created = { metadata: { creationTimestamp: new Date(world.clock.now()).toISOString() } };
    await Promise.all(["a", "b"].map((name) => world.claim(name, created)));
    await world.clock.advance(0);
    expect(world.asked.filter((line) => line.startsWith("PUT sandboxes/"))).toHaveLength(1);
    expect([posts(), told()]).toEqual([1, 0]);
  });

  test("one without an answer may exist nevertheless: nobody makes a second", async () => {
    await begin([1, 2, 3], aPool(FULL), undefined, losing(({ method }) => method === "POST"));
    await world.claim("a");
    await world.clock.advance(100);
    expect([posts(), names().length, told()]).toEqual([1, 4, 0]);
    expect(world.faults()).toEqual([expect.stringContaining("its pool will")]);
  });

  test("a refusal is the pool's to tell of", async () => {
    const isPost = ({ method }: { method: string }) => method === "POST";
    await begin([1, 2, 3], aPool(FULL), (request) => isPost(request) ? { status: 403, body: {} } : undefined);
    await world.claim("a");
    await world.clock.advance(1500);
    expect([posts(), names().length, told()]).toEqual([1, 3, 1]);
  });

  test("a member that somebody else has taken has no replacement of ours", async () => {
    await begin(
      [1, 2, 3],
      aPool(FULL),
      ({ method, path }) => method === "PUT" && path.endsWith("/warm-1") ? { status: 409, body: {} } : undefined,
    );
    await world.claim("a");
    await world.clock.advance(1000);
    expect([world.shares(), posts()]).toEqual([{ a: ["warm-2"] }, 1]);
  });

  test("a binder that has lost its lease since then makes none", async () => {
    const isStatus = ({ path }: { path: string }) => path.endsWith("/status");
    await begin([1, 2, 3], aPool(FULL), undefined, async (request, send) => {
      if (isStatus(request)) void world.stop();
      return await send();
    });
    await world.claim("a");
    await world.clock.advance(1000);
    expect([world.shares(), posts()]).toEqual([{ a: ["warm-1"] }, 0]);
  });
});
