/** Many pools at once: few are updated at a time, in turns, and each with what holds when its turn comes. @module */
import { expect, test } from "vitest";
import type { Api } from "../../packages/kube/api.ts";
import { createBinding } from "../../packages/binder/binder.ts";
import { createRefills } from "../../packages/binder/refills.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { aPool } from "../pools.ts";
import { aTemplate } from "../templates.ts";

/** Pools that all lack everything; an update takes 30 ms. Notes which were updated, and how many at once at most. */
function manyPools() {
  const clock = createFakeClock(0);
  const told: string[] = [];
  const lost = new Set<string>();
  const full = new Set<string>();
  const state = { open: 0, most: 0 };
  const refills = createRefills({
    clock,
    shortageOf: (namespace, name) => ({
      pool: aPool({ metadata: { namespace, name } }),
      ...{ hasTemplate: true, hasLost: lost.has(name), members: full.has(name) ? 3 : 0, ready: 0, waiting: 0 },
      ...{ isBusy: false, isBehind: false },
    }),
    async notify({ pool: { metadata: { namespace, name } } }) {
      told.push(`${namespace}/${name}`);
      state.most = Math.max(state.most, ++state.open);
      await new Promise<void>((fulfil) => clock.setTimeout(fulfil, 30));
      state.open--;
    },
  });
  const look = (namespace: string, ...names: string[]) => names.forEach((name) => refills.look(namespace, name));
  return { clock, told, lost, full, state, refills, look };
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `p-${index}`);

test("however many pools are short, four are updated at once, and each of them is", async () => {
  const { clock, told, state, look } = manyPools();
  look("a", ...names(100));
  await clock.advance(1000);
  expect([state.most, new Set(told).size, told.length]).toEqual([4, 100, 100]);
});

test("pools of another namespace do not wait for all of one", async () => {
  const { clock, told, look } = manyPools();
  look("a", ...names(100));
  look("b", "p", "q");
  await clock.advance(200);
  expect(told.filter((pool) => pool.startsWith("b/"))).toEqual(["b/p", "b/q"]);
});

test("in its namespace a pool that claims have taken members of comes first", async () => {
  const { clock, told, lost, look } = manyPools();
  lost.add("p");
  look("a", ...names(100), "p");
  await clock.advance(100);
  expect(told).toContain("a/p");
});

test("a pool that has filled up before its turn is not told, nor is any when that ends", async () => {
  const { clock, told, full, refills, look } = manyPools();
  look("a", ...names(9));
  await clock.advance(60);
  full.add("p-8");
  await clock.advance(200);
  expect(told.slice(0, 8)).toEqual(names(8).map((name) => `a/${name}`));
  expect(told).not.toContain("a/p-8");
  look("b", ...names(9));
  await clock.advance(60);
  refills.stop();
  const before = told.length;
  await clock.advance(60_000);
  expect(told.length).toBe(before);
});

test("a binder that begins to serve tells none of the pools that lack their template", async () => {
  const clock = createFakeClock(0);
  const asked: string[] = [];
  const send: Api["send"] = ({ method, path }) => {
    asked.push(`${method} ${path.split("/").at(-1)}`);
    return Promise.resolve({ status: 200, body: {} });
  };
  const { handlers, listed, serve } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock,
  });
  handlers.sandboxtemplates.observe(aTemplate());
  const spec = { sandboxTemplateRef: { name: "none" } };
  for (const name of names(50)) handlers.sandboxwarmpools.observe(aPool({ metadata: { name, uid: name }, spec }));
  handlers.sandboxwarmpools.observe(aPool());
  listed();
  const term = new AbortController();
  const serving = serve(term.signal);
  await clock.advance(10_000);
  expect(new Set(asked)).toEqual(new Set(["PATCH warm"]));
  term.abort();
  await serving;
});
