/** The local cluster's real node keeps running, whatever users do to their Pods. @module */
import { describe, expect, test } from "vitest";
import { attempt } from "../integration/kubectl.ts";
import { makeNamespace, sleeper } from "../integration/namespace.ts";
import { hasRealNode } from "../integration/suite.ts";

describe.runIf(hasRealNode)("the real node", () => {
  test("refuses to resize a Pod in place, which would end its kubelet, and says what to do", async () => {
    const ns = await makeNamespace();
    const { metadata, spec } = sleeper("p");
    const [main] = spec.podTemplate.spec.containers;
    const resources = { requests: { cpu: "10m" }, limits: { cpu: "20m" } };
    await ns.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: { ...spec.podTemplate.spec, containers: [{ ...main, resources }] },
    });
    const running = await ns.until("pod", "p", ({ status }) => status?.phase === "Running");
    const change = { spec: { containers: [{ name: "main", resources: { limits: { cpu: "30m" } } }] } };
    const args = ["-n", ns.name, "patch", "pod", "p", "--subresource=resize", "-p", JSON.stringify(change)];
    expect(await attempt(ns.cluster, args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot resize a Pod in place. Change the spec and make another Pod."),
    });
    const after = await ns.get("pod", "p");
    expect(after.spec.containers[0].resources).toEqual(running.spec.containers[0].resources);
  });
});
