/**
 * What is killed and comes back. Many claims at once, in fair weather and in foul: each gets a Sandbox of its own, none is
 * lost or left over. Here one burst of each kind, smaller; `npm run soak` has them all. @module
 */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { percentile } from "../../../dev/bench/result.ts";
import { type Breakable, startBreakable } from "../breakable.ts";
import fc from "../../properties.ts";
import { createAll } from "../bulk.ts";
import { faultsOf, followClaims, type History } from "../history.ts";
import { until } from "../kubectl.ts";
import { type Loose, makeNamespace, type Namespace, ON_SIMULATED_NODES, sleeper } from "../namespace.ts";
import { aClaim, aPool, aSimulatedTemplate, controllerOf, untilFull } from "../pools.ts";

const CLAIMS = inject("isSoak") ? 300 : 40;
let world: Breakable;
beforeAll(async () => world = await startBreakable());
afterAll(() => world?.down());

// First: Events of hundreds of Sandboxes that are being cleared away would be written before its own.
test("a Sandbox whose hook is down loses nothing, and what was asked for is done once it is back", async () => {
  const ns = await makeNamespace(world.kubectl);
  const podOf = (name: string) => ns.get("pod", name) as Promise<Loose>;
  await ns.apply(sleeper("s", {}, ON_SIMULATED_NODES));
  await ns.untilReason("s", "DependenciesReady");
  const { uid } = (await podOf("s")).metadata;
  await world.withoutHook("sandbox", async () => {
    await ns.patch("sandbox", "s", { spec: { podTemplate: { metadata: { labels: { x: "1" } } } } });
    await ns.apply(sleeper("later", {}, ON_SIMULATED_NODES));
    const failures = () => ns.kubectl("get", "events", "--field-selector=reason=SyncError", "-o", "name");
    await until(failures, (names) => names !== "");
    expect((await podOf("s")).metadata.uid).toBe(uid);
    expect(await podOf("later")).toBeUndefined();
  });
  await ns.until("pod", "s", ({ metadata }) => metadata.labels.x === "1");
  await ns.untilReason("later", "DependenciesReady");
  expect((await podOf("s")).metadata.uid).toBe(uid);
});

interface Case {
  name: string;
  replicas: number;
  /** Only in a long run: another of its kind is always tried. */
  isLong?: boolean;
  /** Runs at the same time as the claims; `served` tells how many are Ready. */
  breaking(served: () => number): Promise<void>;
}

const CASES: Case[] = [
  { name: "on a pool of 300", replicas: 300, isLong: true, breaking: async () => {} },
  { name: "on a pool of 10", replicas: 10, isLong: true, breaking: async () => {} },
  {
    name: "on a pool of 300 whose hook is killed ten times",
    replicas: 300,
    isLong: true,
    breaking: (served) => repeatedly(10, served, () => world.killHook("sandboxwarmpool")),
  },
  {
    name: "on a pool of 10 whose hook is killed ten times",
    replicas: 10,
    breaking: (served) => repeatedly(10, served, () => world.killHook("sandboxwarmpool")),
  },
  {
    name: "on a pool of 30 while Metacontroller is killed twice",
    replicas: 30,
    breaking: (served) => repeatedly(2, served, () => world.killEngine()),
  },
  {
    name: "on a pool of 30 while the binder that leads is killed twice",
    replicas: 30,
    breaking: (served) => repeatedly(2, served, () => world.killBinder()),
  },
  {
    name: "on a pool of 30 while the API server is killed",
    replicas: 30,
    breaking: (served) => repeatedly(1, served, () => world.killApiServer()),
  },
];

const cases = CASES.filter(({ isLong = false }) => inject("isSoak") || !isLong);

test.for(cases)(`${CLAIMS} claims at once $name`, async ({ replicas, breaking }) => {
  const ns = await makeNamespace(world.kubectl);
  await ns.apply(aSimulatedTemplate("t"), aPool("p", replicas, "t"));
  await untilFull(ns, "p");
  const history = await followClaims(ns);
  const served = () => history.ready().length;
  await createAll(ns, Array.from({ length: CLAIMS }, (_, index) => aClaim(`c-${index}`, "p")));
  await breaking(served);
  await until(() => Promise.resolve(served()), (count) => count === CLAIMS);
  await untilFull(ns, "p");
  await expectOneEach(ns, history, CLAIMS, replicas);
});

if (inject("isSoak")) {
  test(
    "1,000 claims at 5/s while the binder that leads is killed at random, twenty times",
    async () => {
      const [claims, kills, replicas] = [1000, 20, 50];
      const ns = await makeNamespace(world.kubectl);
      await ns.apply(aSimulatedTemplate("t"), aPool("p", replicas, "t"));
      await untilFull(ns, "p");
      const history = await followClaims(ns);
      const arriving = (async () => {
        for (let index = 0; index < claims; index++) {
          await Promise.all([createAll(ns, [aClaim(`c-${index}`, "p")]), sleep(200)]);
        }
      })();
      const pauses = fc.integer({ min: 0, max: Math.floor(2 * claims * 200 / (kills + 1)) });
      for (const pauseMs of fc.sample(pauses, { seed: inject("seed"), numRuns: kills, unbiased: true })) {
        await sleep(pauseMs);
        await world.killBinder();
      }
      await arriving;
      await until(() => Promise.resolve(history.ready().length), (count) => count === claims);
      await untilFull(ns, "p");
      await expectOneEach(ns, history, claims, replicas);
      const waits = history.waits();
      const [p50, p99, longest] = [50, 99, 100].map((p) => Math.round(percentile(waits, p) ?? NaN));
      process.stdout.write(`${JSON.stringify({ claims: waits.length, kills, waitsMs: { p50, p99, longest } })}\n`);
    },
  );
}

/** Breaks something again and again, spread over the time in which the claims are served. */
async function repeatedly(times: number, served: () => number, act: () => Promise<void>): Promise<void> {
  for (let done = 1; done <= times; done++) {
    const enough = Math.floor((CLAIMS * done) / (times + 2));
    for (let tries = 0; tries < 40 && served() < enough; tries++) await sleep(50);
    await act();
  }
}

/** Every claim shows another Sandbox, which is its own; there are no others but the pool's. */
async function expectOneEach(ns: Namespace, history: History, claims: number, replicas: number): Promise<void> {
  await until(async () => (await ns.list("sandbox")).length, (count) => count === claims + replicas);
  expect(faultsOf(history)).toEqual([]);
  const shown = new Map(
    (await ns.list("sandboxclaim")).map((claim) => [claim.status.sandbox.name, claim.metadata.uid]),
  );
  expect(shown.size).toBe(claims);
  const sandboxes = await ns.list("sandbox");
  const owned = sandboxes.filter((sandbox) => controllerOf(sandbox)?.kind === "SandboxClaim");
  expect(new Map(owned.map((sandbox) => [sandbox.metadata.name, controllerOf(sandbox)?.uid]))).toEqual(shown);
  const rest = sandboxes.filter((sandbox) => controllerOf(sandbox)?.kind === "SandboxWarmPool");
  expect(rest.length).toBe(replicas);
}
