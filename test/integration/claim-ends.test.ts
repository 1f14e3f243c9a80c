/** What must not happen after the end: used Sandboxes used again. @module */
import { expect, test } from "vitest";
import { makeNamespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate, controllerOf, untilFull, untilReady } from "./pools.ts";
import "./suite.ts";

test("a Sandbox that was bound once never serves another claim: orphaned, it is left alone", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("c", "p"));
  const { name } = (await untilReady(ns, "c")).status.sandbox;
  const { metadata: { uid } } = await ns.get("sandbox", name);
  await ns.kubectl("delete", "sandboxclaim", "c", "--cascade=orphan");
  await ns.apply(...["d", "e", "f"].map((claim) => aClaim(claim, "p")));
  const given = await Promise.all(
    ["d", "e", "f"].map(async (claim) => (await untilReady(ns, claim)).status.sandbox.name),
  );
  expect(new Set(given).size).toBe(3);
  expect(given).not.toContain(name);
  await untilFull(ns, "p");
  expect((await ns.get("sandbox", name)).metadata.uid).toBe(uid);
  const owners = (await ns.list("sandbox")).map((sandbox) => controllerOf(sandbox)?.kind).sort();
  expect(owners).toEqual(["SandboxClaim", "SandboxClaim", "SandboxClaim", "SandboxWarmPool", undefined]);
});
