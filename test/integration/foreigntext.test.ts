/** Text of other components reaches our statuses on a real API server, whose CRDs check each field. @module */
import { expect, test } from "vitest";
import { parseJson } from "../../packages/api/objects/json.ts";
import { condition, makeNamespace, sleeper } from "./namespace.ts";
import { aClaim, aPool, untilFull, untilReady } from "./pools.ts";
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

test("integers of 64 bits keep their digits, from the Sandbox to its Pod, and when a member is bound", async () => {
  const ns = await makeNamespace();
  const largest = "9223372036854775807";
  const spec = (name: string, kind: string, rest: string) =>
    `{"apiVersion":"${kind === "Sandbox" ? "" : "extensions."}agents.x-k8s.io/v1beta1","kind":"${kind}",` +
    `"metadata":{"name":"${name}"},"spec":{${rest}"podTemplate":{"spec":{"terminationGracePeriodSeconds":0,` +
    `"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":${largest}}],` +
    `"containers":[{"name":"main","image":"busybox:1.37","command":["sleep","86400"]}]}}}}`;
  await ns.apply(parseJson(spec("demo", "Sandbox", "")) as object);
  await ns.untilReason("demo", "DependenciesReady");
  await ns.apply(parseJson(spec("t", "SandboxTemplate", '"networkPolicyManagement":"Unmanaged",')) as object);
  await ns.apply(aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("c", "p"));
  const { name } = (await untilReady(ns, "c")).status.sandbox;
  for (const object of ["sandbox/demo", "pod/demo", `sandbox/${name}`, `pod/${name}`]) {
    const text = await ns.kubectl(
      "get",
      object,
      "-o",
      "jsonpath={.spec.tolerations}{.spec.podTemplate.spec.tolerations}",
    );
    expect([object, text]).toEqual([object, expect.stringContaining(`"tolerationSeconds":${largest}`)]);
  }
});
