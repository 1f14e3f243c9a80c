/** What others write reaches our statuses on a real API server, whose CRDs check each field. @module */
import { expect, test } from "vitest";
import { condition, makeNamespace, sleeper } from "./namespace.ts";
import "./suite.ts";

test("a scheduler's own word for why it waits does not cost the Sandbox its status", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("odd", {}, { schedulerName: "ours" }));
  await ns.until("pod", "odd", (pod) => pod !== undefined);
  const conditions = [{ type: "PodScheduled", status: "False", reason: "queue-full", message: "gang waits" }];
  await ns.kubectl(
    ...["patch", "pod", "odd", "--subresource=status", "--type=merge"],
    ...["-p", JSON.stringify({ status: { conditions } })],
  );
  const isShown = (sandbox: object) => condition(sandbox, "PodScheduled")?.reason === "QueueFull";
  const sandbox = await ns.until("sandbox", "odd", isShown);
  expect(condition(sandbox, "PodScheduled")).toMatchObject({ status: "False", message: "queue-full: gang waits" });
  await ns.kubectl(
    ...["patch", "pod", "odd", "--subresource=status", "--type=merge"],
    ...["-p", JSON.stringify({ status: { phase: "Failed" } })],
  );
  await ns.untilReason("odd", "PodFailed");
});
