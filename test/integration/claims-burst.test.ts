/** Many claims at once: each gets a Sandbox of its own, none is lost, and the pool is back to size. @module */
import { expect, test } from "vitest";
import { createAll } from "./bulk.ts";
import { faultsOf, followClaims } from "./history.ts";
import { until } from "./kubectl.ts";
import { makeNamespace, type Namespace } from "./namespace.ts";
import { aClaim, aPool, aSimulatedTemplate, controllerOf, untilFull } from "./pools.ts";

const CLAIMS = 300;

test.for([300, 10, 1])("300 claims at once on a pool of %i", { timeout: 300_000 }, async (replicas) => {
  const ns = await makeNamespace();
  await ns.apply(aSimulatedTemplate("t"), aPool("p", replicas, "t"));
  await untilFull(ns, "p", 120);
  const history = await followClaims(ns);
  await createAll(ns, names(CLAIMS).map((name) => aClaim(name, "p")));
  await until(() => Promise.resolve(history.ready().length), (count) => count === CLAIMS, 240);
  await untilFull(ns, "p", 120);
  expect(faultsOf(history)).toEqual([]);
  await expectOneEach(ns, CLAIMS, replicas);
});

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `c-${index}`);
}

/** Every claim shows another Sandbox, which is its own; there are no others but the pool's. */
async function expectOneEach(ns: Namespace, claims: number, replicas: number): Promise<void> {
  const isSettled = (count: number) => count === claims + replicas;
  await until(async () => (await ns.list("sandbox")).length, isSettled, 30);
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
