/** What a binder does that begins to lead, while its watch may not have shown what another one has given. @module */
import { afterEach, expect, test } from "vitest";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { STATUS } from "../pools.ts";
import { aWorld, broken, isBlind } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

test("a binder that takes over gives no claim a second Sandbox, though its watch does not show that they have one", async () => {
  world = await aWorld();
  await world.members([1, 2, 3, 4]);
  const takesOver = Promise.withResolvers<void>();
  await world.binder(isBlind, undefined, takesOver.promise);
  // It ends before it can say what it has given.
  const first = await world.binder((request) => request.path.endsWith("/status") ? broken : undefined);
  // Not in the order in which they are served when they are there at once.
  for (const name of ["d", "c"]) {
    await world.claim(name);
    await world.clock.advance(0);
  }
  const given = { c: ["warm-2"], d: ["warm-1"] };
  expect([world.shares(), world.shown()]).toEqual([given, {}]);
  await first.stop();
  takesOver.resolve();
  await world.clock.advance(5000);
  expect(world.shares()).toEqual(given);
});

test("a binder asks what others have given until its watch has shown that, and no longer", async () => {
  const searches: string[] = [];
  world = await aWorld();
  await world.members([1, 2, 3]);
  await world.binder(({ path, query }) => {
    if (query?.["labelSelector"] !== undefined) searches.push(path);
    return undefined;
  });
  for (const name of ["c", "d", "e"]) {
    await world.claim(name);
    await world.clock.advance(10);
  }
  expect(searches.length).toBe(1);
  expect(Object.values(world.shares()).flat().length).toBe(3);
});

test("a binder that takes over reads a claim before it gives it a Sandbox: the claim may have reported the end of one", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  await world.claim("c");
  const takesOver = Promise.withResolvers<void>();
  // The standby has listed everything before, and its watches show nothing of what happened since.
  const isDeaf: ApiFault = ({ method, path }) =>
    method === "WATCH" && /\/sandbox(es|claims)$/.test(path) ? { status: 500, body: {} } : undefined;
  await world.binder(isDeaf, undefined, takesOver.promise);
  const first = await world.binder();
  await world.clock.advance(100);
  expect(world.shown()).toEqual({ c: "warm-1" });
  const status = { conditions: STATUS.finished.conditions, sandbox: { name: "warm-1" } };
  await world.claim("c", { status });
  await first.stop();
  await world.remove(world.sandboxes().find(({ metadata }) => metadata.name === "warm-1"), "Sandbox");
  takesOver.resolve();
  await world.clock.advance(10_000);
  expect([world.shares(), world.claims()[0]?.status]).toEqual([{ c: [] }, status]);
});
