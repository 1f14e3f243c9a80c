/** What must not happen after the end: finished members bound, final reasons taken back, used Sandboxes used again. @module */
import { expect, test } from "vitest";
import { followClaims } from "./history.ts";
import { until } from "./kubectl.ts";
import { condition, makeNamespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate, controllerOf, untilFull, untilReady } from "./pools.ts";

const ENDING = {
  restartPolicy: "Never",
  containers: [{ name: "main", image: "busybox:1.37", command: ["sh", "-c", "sleep 4; exit 3"] }],
};

test("a member whose Pod has finished is never bound; a reason that is final for clients stays", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", {}, ENDING), aPool("p", 1, "t"));
  const [member] = await until(
    () => ns.list("sandbox"),
    ([sandbox]) => condition(sandbox, "Finished")?.status === "True",
  );
  const history = await followClaims(ns);
  await ns.apply(aClaim("c", "p"));
  const failed = await untilReady(ns, "c", "PodFailed");
  const { name } = failed.status.sandbox;
  expect(name).not.toBe(member.metadata.name);
  const reasons = history.versions.get("c")?.map((claim) => condition(claim, "Ready")?.reason) ?? [];
  expect(new Set(reasons.slice(reasons.indexOf("PodFailed")))).toEqual(new Set(["PodFailed"]));

  await ns.kubectl("delete", "sandbox", name);
  await ns.until("sandbox", name, (sandbox) => sandbox === undefined);
  await ns.kubectl("annotate", "sandboxclaim", "c", "example.com/touched=yes");
  await ns.apply(aClaim("next", "p"));
  await untilReady(ns, "next", "PodFailed");
  expect(condition(await ns.get("sandboxclaim", "c"), "Ready").reason).toBe("PodFailed");
});

test("a Sandbox that was bound once never serves another claim, even if it is orphaned", async () => {
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
  await ns.until("sandbox", name, (sandbox) => sandbox?.metadata.uid !== uid);
  await untilFull(ns, "p");
  const owners = (await ns.list("sandbox")).map((sandbox) => controllerOf(sandbox)?.kind).sort();
  expect(owners).toEqual(["SandboxClaim", "SandboxClaim", "SandboxClaim", "SandboxWarmPool"]);
});
