/** How claims end after their Pod has finished; by time alone: packages/testing/scenarios/expiry.yaml. @module */
import { expect, test } from "vitest";
import { until } from "./kubectl.ts";
import { condition, makeNamespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilReady } from "./pools.ts";
import { hasRealNode } from "./suite.ts";

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+/, "");

// Simulated nodes end no container by themselves.
test.runIf(hasRealNode)("ttlSecondsAfterFinished counts from the Pod's end", async () => {
  const ns = await makeNamespace();
  const containers = [{ name: "main", image: "busybox:1.37", command: ["sh", "-c", "sleep 5"] }];
  await ns.apply(aTemplate("t", {}, { containers, restartPolicy: "Never" }), aPool("p", 0, "t"));
  const lifecycle = { ttlSecondsAfterFinished: 2, shutdownPolicy: "Retain" };
  await ns.apply(aClaim("c", "p", { lifecycle }));
  const finished = await ns.until("sandboxclaim", "c", (claim) => condition(claim, "Finished")?.status === "True");
  const ended = Date.parse(condition(finished, "Finished").lastTransitionTime);
  const expired = await untilReady(ns, "c", "ClaimExpired");
  expect(Date.now()).toBeGreaterThanOrEqual(ended + 2000);
  expect(condition(expired, "Finished")).toMatchObject({ status: "True", reason: "PodSucceeded" });
  await until(() => ns.list("sandbox"), (left) => left.length === 0);
});

test("a claim that has expired before it is served is not served", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 0, "t"));
  await ns.apply(aClaim("late", "p", { lifecycle: { shutdownTime: inSeconds(-60), shutdownPolicy: "Retain" } }));
  await untilReady(ns, "late", "ClaimExpired");
  await until(() => ns.list("sandbox"), (left) => left.length === 0);
});
