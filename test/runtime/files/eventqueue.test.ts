/** createEventQueue(): order, the limit, silence, the end. @module */
import { expect, test } from "vitest";
import { createEventQueue } from "../../../packages/runtime/files/watch.ts";

function makeQueue(most = 3, idleMs = 60_000) {
  return createEventQueue<string>({ most, overflow: "overflow", idle: "idle", idleMs });
}

async function all(events: AsyncGenerator<string>): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

test("events come in order, those that wait at the end too, and none after it", async () => {
  const { push, end, take } = makeQueue();
  ["a", "b"].forEach(push);
  end();
  push("late");
  expect(await all(take())).toEqual(["a", "b"]);
});

test("too many are replaced by one that says so, and later ones come again", async () => {
  const { push, end, take } = makeQueue();
  ["a", "b", "c", "d", "e"].forEach(push);
  end();
  expect(await all(take())).toEqual(["overflow", "e"]);
});

test("a reader that waits gets the next event, silence, and the end", async () => {
  const { push, end, take } = makeQueue(3, 10);
  const events = take();
  const next = events.next();
  push("a");
  expect((await next).value).toBe("a");
  expect((await events.next()).value).toBe("idle");
  const last = events.next();
  end();
  expect((await last).done).toBe(true);
});
