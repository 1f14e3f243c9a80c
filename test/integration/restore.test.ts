/**
 * etcd is restored from a backup. Claims that were created since the backup are gone, and their used Sandboxes are pool
 * members again. On a cluster of its own, with a real etcd whose versions go back. @module
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Breakable, startBreakable } from "./breakable.ts";
import { createAll } from "./bulk.ts";
import { until } from "./kubectl.ts";
import { condition, type Loose, makeNamespace, type Namespace } from "./namespace.ts";
import { aClaim, aPool, aSimulatedTemplate, controllerOf, untilFull } from "./pools.ts";

const CLAIMS = 50;
let world: Breakable;
beforeAll(async () => world = await startBreakable());
afterAll(() => world?.down());

/** A namespace with a full pool, before anybody has asked for anything. */
async function aFullPool(): Promise<Namespace> {
  const ns = await makeNamespace(world.kubectl);
  await ns.apply(aSimulatedTemplate("t"), aPool("p", CLAIMS, "t"));
  await untilFull(ns, "p");
  return ns;
}

/** Makes so many claims, waits until all are Ready, and returns the UIDs of their Sandboxes. */
async function claimAll(ns: Namespace, prefix: string): Promise<Set<string>> {
  await createAll(ns, Array.from({ length: CLAIMS }, (_, index) => aClaim(`${prefix}-${index}`, "p")));
  const isServed = (claim: Loose) =>
    claim.metadata.name.startsWith(prefix) && condition(claim, "Ready")?.status === "True";
  await until(async () => (await ns.list("sandboxclaim")).filter(isServed).length, (count) => count === CLAIMS);
  const sandboxes = await ns.list("sandbox");
  const given = sandboxes.filter((sandbox) => controllerOf(sandbox)?.kind === "SandboxClaim");
  expect(given.length).toBe(CLAIMS);
  return new Set(given.map(({ metadata }) => metadata.uid));
}

/** Waits until nothing of `used` is there any more, and the pool is full all the same. */
async function untilReplaced(ns: Namespace, used: ReadonlySet<string>): Promise<void> {
  const left = async () => (await ns.list("sandbox")).filter(({ metadata }) => used.has(metadata.uid)).length;
  await until(left, (count) => count === 0);
  await untilFull(ns, "p");
}

test(
  "what claims have had since the backup is given to no other claim, but replaced",
  async () => {
    const ns = await aFullPool();
    const restore = await world.backUp();
    const used = await claimAll(ns, "before");
    await restore();
    expect(await ns.list("sandboxclaim")).toEqual([]);
    const given = await claimAll(ns, "after");
    expect([...given].filter((uid) => used.has(uid))).toEqual([]);
    await untilReplaced(ns, used);
  },
);
