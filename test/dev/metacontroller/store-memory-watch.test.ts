/** The memory store's watches, and the clock that they and everything else go by. @module */
import { expect, test } from "vitest";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { storeWith } from "./storewith.ts";
import { aThing } from "./world.ts";

/** Follows a resource, as lines such as `changed t`. */
function follow(lines: string[]) {
  const line = (type: string) => ({ metadata, ...object }: KubeObject) =>
    void lines.push(`${type} ${metadata.name} ${JSON.stringify(object["spec"] ?? null)}`);
  return {
    replace: (objects: KubeObject[]) => objects.forEach(line("listed")),
    changed: line("changed"),
    deleted: line("deleted"),
  };
}

test("watch: the state, then every change in order, until it ends", async () => {
  const { store, things, settle } = await storeWith();
  await store.put(aThing("a"));
  const lines: string[] = [];
  const end = store.watch(things, follow(lines));
  await store.put(aThing("b", { spec: 1 }));
  await store.put(aThing("b", { spec: 2 }));
  await store.delete(things, "ns", "a");
  await settle();
  end();
  await store.put(aThing("c"));
  await settle();
  expect(lines).toStrictEqual(["listed a null", "changed b 1", "changed b 2", "deleted a null"]);
});

test("watchDelay: changes come late, but never out of order", async () => {
  const { store, things } = await storeWith({ watchDelay: ({ metadata }) => metadata.name === "slow" ? 100 : 0 });
  const lines: string[] = [];
  store.watch(things, follow(lines));
  await store.put(aThing("slow"));
  await store.put(aThing("fast"));
  await store.clock.advance(99);
  expect(lines).toStrictEqual([]);
  await store.clock.advance(1);
  expect(lines).toStrictEqual(["changed slow null", "changed fast null"]);
});

test("the fake clock runs timers in order of time, then of setting, and cancels", async () => {
  const { store: { clock } } = await storeWith();
  const ran: string[] = [];
  const set = (name: string, ms: number) => clock.setTimeout(() => void ran.push(`${name}@${clock.now() - start}`), ms);
  const start = clock.now();
  set("late", 20);
  const cancel = set("cancelled", 10);
  set("a", 10);
  set("b", 10);
  clock.setTimeout(() => void set("nested", 5), 10);
  cancel();
  expect(await clock.step(5)).toBe(false);
  await clock.advance(15);
  expect(ran).toStrictEqual(["a@10", "b@10", "nested@15"]);
  expect(clock.now() - start).toBe(15);
  expect(await clock.step()).toBe(true);
  expect(ran.at(-1)).toBe("late@20");
});
