/** Events of claims and pools where everything runs: hooks, Metacontroller and keeper on a real API server. @module */
import { expect, test } from "vitest";
import { condition, forbidPods, type Loose, makeNamespace, type Namespace, sleeper } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "./pools.ts";
import { until } from "./kubectl.ts";
import "./suite.ts";

/** Reads what the keeper has told of one kind in the namespace, oldest first, as `Type Reason kind/name: note`. */
async function told(ns: Namespace, kind: string): Promise<string[]> {
  const { items } = JSON.parse(await ns.kubectl("get", "events.events.k8s.io", "-o", "json"));
  return (items as Loose[])
    .filter(({ reportingController, regarding }) =>
      /^sandbox\w*-controller$/.test(reportingController) && regarding.kind === kind
    )
    .sort((a, b) => a.eventTime < b.eventTime ? -1 : 1)
    .map(({ type, reason, regarding, note }) => `${type} ${reason} ${regarding.kind}/${regarding.name}: ${note}`);
}

const untilTold = (ns: Namespace, kind: string, count: number) =>
  until(() => told(ns, kind), (lines) => lines.length >= count);

test("claims have one Event each for what they were given, and two for their expiry", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", { envVarsInjectionPolicy: "Allowed" }), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("warm", "p"));
  const { status } = await untilReady(ns, "warm");
  const adopted = `Normal SandboxAdopted SandboxClaim/warm: Adopted warm pool Sandbox "${status.sandbox.name}"`;
  expect(await untilTold(ns, "SandboxClaim", 1)).toEqual([adopted]);
  await ns.apply(aClaim("cold", "p", { env: [{ name: "WHO", value: "me" }] }));
  await untilReady(ns, "cold");
  const lifecycle = { shutdownTime: "2026-01-01T00:00:00Z", shutdownPolicy: "Delete" };
  await ns.patch("sandboxclaim", "cold", { spec: { lifecycle } });
  await ns.until("sandboxclaim", "cold", (claim) => claim === undefined);
  expect((await untilTold(ns, "SandboxClaim", 4)).sort()).toEqual([
    "Normal ClaimExpired SandboxClaim/cold: Claim expired",
    "Normal ClaimExpired SandboxClaim/cold: Deleting Claim (ShutdownPolicy=Delete)",
    adopted,
    'Normal SandboxProvisioned SandboxClaim/cold: Created Sandbox "cold"',
  ]);
});

test("a pool without its template has a Warning, and a word when the template comes", async () => {
  const ns = await makeNamespace();
  await ns.apply(aPool("p", 1, "t"));
  const [stuck] = await untilTold(ns, "SandboxWarmPool", 1);
  expect(stuck).toMatch(/^Warning WarmPoolNotProgressing SandboxWarmPool\/p: .*"t"/);
  await ns.apply(aTemplate("t"));
  await untilFull(ns, "p");
  expect(await untilTold(ns, "SandboxWarmPool", 2)).toEqual([
    stuck,
    "Normal WarmPoolProgressing SandboxWarmPool/p: Warm pool is progressing again",
  ]);
});

test("a Sandbox has an Event for each step of its life, and for a Pod that is refused", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s"));
  await ns.until("sandbox", "s", (it) => condition(it, "Ready")?.status === "True");
  await untilTold(ns, "Sandbox", 2);
  await ns.patch("sandbox", "s", { spec: { operatingMode: "Suspended" } });
  await untilTold(ns, "Sandbox", 3);
  await ns.patch("sandbox", "s", { spec: { operatingMode: "Running" } });
  await untilTold(ns, "Sandbox", 5);
  await ns.patch("sandbox", "s", { spec: { shutdownTime: "2026-01-01T00:00:00Z", shutdownPolicy: "Retain" } });
  const lives = await until(() => told(ns, "Sandbox"), (lines) => lines.some((line) => line.includes("Expired")));
  const of = (reason: string) => lives.filter((line) => line.startsWith(`Normal ${reason} Sandbox/s: `)).length;
  const reasons = ["SandboxPodCreated", "SandboxReady", "SandboxSuspended", "SandboxExpired"];
  expect(reasons.map(of)).toEqual([2, 2, 1, 1]);
  await forbidPods(ns, "q");
  await ns.apply(sleeper("refused"));
  const lines = await until(() => told(ns, "Sandbox"), (all) => all.some((line) => line.includes("/refused")));
  expect(lines.filter((line) => line.includes("/refused"))).toEqual([
    expect.stringMatching(/^Warning SandboxPodCreateFailed Sandbox\/refused: Error seen: .*exceeded quota/),
  ]);
});
