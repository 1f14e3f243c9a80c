/** Expiry on a real API server: the hook publishes, the keeper deletes. @module */
import { expect, test } from "vitest";
import { condition, makeNamespace, ON_SIMULATED_NODES, sleeper, VOLUME } from "./namespace.ts";
import "./suite.ts";

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+Z/, "Z");

test("Retain: Pod and Service go, object and volume stay, and a later shutdownTime brings the Pod back", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { ...VOLUME, service: true }));
  await ns.untilReason("s", "DependenciesReady");
  await ns.patch("sandbox", "s", { spec: { shutdownTime: inSeconds(2) } });
  const pvc = await ns.get("pvc", "data-s");
  await ns.untilReason("s", "SandboxExpired");
  await ns.until("pod", "s", (pod) => pod === undefined);
  await ns.until("service", "s", (service) => service === undefined);
  const expired = await ns.until("sandbox", "s", (s) => s.status.selector === undefined);
  expect(condition(expired, "Ready")).toMatchObject({ status: "False", message: "Sandbox has expired" });
  expect(condition(expired, "Suspended")).toMatchObject({ reason: "NotSuspended" });
  expect(Object.keys(expired.status).sort()).toEqual(["conditions", "observedGeneration"]);
  expect((await ns.get("pvc", "data-s")).metadata.uid).toBe(pvc.metadata.uid);

  await ns.patch("sandbox", "s", { spec: { shutdownTime: inSeconds(3600) } });
  await ns.untilReason("s", "DependenciesReady");
  expect((await ns.get("pvc", "data-s")).metadata.uid).toBe(pvc.metadata.uid);
});

test("Delete: the object goes, and with it everything", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { shutdownTime: inSeconds(2), shutdownPolicy: "Delete" }, ON_SIMULATED_NODES));
  expect(await ns.until("sandbox", "s", (s) => s === undefined)).toBeUndefined();
  expect(await ns.until("pod", "s", (pod) => pod === undefined)).toBeUndefined();
});

test("a shutdownTime that is past from the start: published, then deleted, and no Pod survives", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { shutdownTime: inSeconds(-60), shutdownPolicy: "Delete" }, ON_SIMULATED_NODES));
  expect(await ns.until("sandbox", "s", (s) => s === undefined)).toBeUndefined();
  expect(await ns.until("pod", "s", (pod) => pod === undefined)).toBeUndefined();
});
