/** How claims end: by time, after their Pod has finished, and what is left then. @module */
import { expect, test } from "vitest";
import { until } from "./kubectl.ts";
import { condition, makeNamespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "./pools.ts";

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+/, "");

test.for(["Delete", "DeleteForeground"])(
  "shutdownTime with %s deletes claim, Sandbox and Pod",
  async (shutdownPolicy) => {
    const ns = await makeNamespace();
    await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
    await untilFull(ns, "p");
    await ns.apply(aClaim("c", "p", { lifecycle: { shutdownTime: inSeconds(6), shutdownPolicy } }));
    const { name } = (await untilReady(ns, "c")).status.sandbox;
    await ns.until("sandboxclaim", "c", (claim) => claim === undefined);
    await ns.until("sandbox", name, (sandbox) => sandbox === undefined);
    await ns.until("pod", name, (pod) => pod === undefined);
    await untilFull(ns, "p");
  },
);

test("Retain keeps the claim, says ClaimExpired, and deletes the Sandbox only; no pool serves it again", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("c", "p", { lifecycle: { shutdownTime: inSeconds(6), shutdownPolicy: "Retain" } }));
  const { name } = (await untilReady(ns, "c")).status.sandbox;
  await ns.until("sandbox", name, (sandbox) => sandbox === undefined);
  const claim = await ns.until("sandboxclaim", "c", ({ status }) => status.sandbox === undefined);
  expect(condition(claim, "Ready")).toMatchObject({
    status: "False",
    reason: "ClaimExpired",
    message: "Claim expired. Sandbox cleanup initiated.",
  });
  await untilFull(ns, "p");
  await ns.apply(aClaim("next", "p"));
  await untilReady(ns, "next");
  expect((await ns.get("sandboxclaim", "c")).status.sandbox).toBeUndefined();
});

test("ttlSecondsAfterFinished counts from the Pod's end; a claim that has expired before it is served is not served", async () => {
  const ns = await makeNamespace();
  const containers = [{ name: "main", image: "busybox:1.37", command: ["sh", "-c", "sleep 5"] }];
  await ns.apply(aTemplate("t", {}, { containers, restartPolicy: "Never" }), aPool("p", 0, "t"));
  const lifecycle = { ttlSecondsAfterFinished: 2, shutdownPolicy: "Retain" };
  await ns.apply(aClaim("c", "p", { lifecycle }));
  await ns.apply(aClaim("late", "p", { lifecycle: { shutdownTime: inSeconds(-60), shutdownPolicy: "Retain" } }));
  const finished = await ns.until("sandboxclaim", "c", (claim) => condition(claim, "Finished")?.status === "True");
  const ended = Date.parse(condition(finished, "Finished").lastTransitionTime);
  const expired = await untilReady(ns, "c", "ClaimExpired");
  expect(Date.now()).toBeGreaterThanOrEqual(ended + 2000);
  expect(condition(expired, "Finished")).toMatchObject({ status: "True", reason: "PodSucceeded" });
  await untilReady(ns, "late", "ClaimExpired");
  await until(() => ns.list("sandbox"), (left) => left.length === 0);
});
