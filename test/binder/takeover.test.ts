/** What a binder does that begins to lead, while its watch may not have shown what another one has given. @module */
import { afterEach, expect, test } from "vitest";
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
