/** A SandboxTemplate on a real API server: its label, its policy, and what becomes of changes to either. @module */
import { expect, test } from "vitest";
import { type Loose, makeNamespace } from "./namespace.ts";
import "./suite.ts";

const HASH = "agents.x-k8s.io/sandbox-template-ref-hash";
const POLICY = "python-network-policy";
const template = (spec: object = {}) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxTemplate",
  metadata: { name: "python" },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox:1.37" }] } }, ...spec },
});

test("a template is labelled and fenced; drift is undone; rules of its own replace the default; deletion takes both", async () => {
  const ns = await makeNamespace();
  await ns.apply(template());
  const policy = await ns.until("networkpolicy", POLICY, (object) => object !== undefined);
  expect((await ns.get("sandboxtemplate", "python")).metadata.labels).toEqual({ [HASH]: "0fceff97" });
  expect(policy.metadata.ownerReferences).toMatchObject([{
    kind: "SandboxTemplate",
    name: "python",
    controller: true,
  }, { kind: "Namespace", name: ns.name }]);
  expect(policy.spec).toMatchObject({
    podSelector: { matchLabels: { [HASH]: "0fceff97" } },
    policyTypes: ["Ingress", "Egress"],
  });
  expect(policy.spec.egress[0].to[0].ipBlock.except).toContain("169.254.0.0/16");

  await ns.patch("networkpolicy", POLICY, { spec: { podSelector: { matchLabels: { extra: "1" } }, ingress: [{}] } });
  const repaired = (object: Loose) => JSON.stringify(object.spec) === JSON.stringify(policy.spec);
  await ns.until("networkpolicy", POLICY, repaired);
  await ns.kubectl("label", "sandboxtemplate", "python", `${HASH}-`);
  await ns.until("sandboxtemplate", "python", (object) => object.metadata.labels?.[HASH] === "0fceff97");

  const egress = [{ ports: [{ port: 53, protocol: "UDP" }, { port: 53 }] }];
  await ns.patch("sandboxtemplate", "python", { spec: { networkPolicy: { egress } } });
  const own = await ns.until("networkpolicy", POLICY, (object) => object.spec.ingress === undefined);
  expect(own.spec.egress).toEqual([{ ports: [{ port: 53, protocol: "UDP" }, { port: 53, protocol: "TCP" }] }]);

  await ns.kubectl("delete", "sandboxtemplate", "python");
  expect(await ns.until("networkpolicy", POLICY, (object) => object === undefined)).toBeUndefined();
});

test("Unmanaged removes our policy and lets a foreign one of its name be", async () => {
  const ns = await makeNamespace();
  await ns.apply(template());
  await ns.until("networkpolicy", POLICY, (object) => object !== undefined);
  await ns.patch("sandboxtemplate", "python", { spec: { networkPolicyManagement: "Unmanaged" } });
  await ns.until("networkpolicy", POLICY, (object) => object === undefined);

  const foreign = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: POLICY },
    spec: { podSelector: { matchLabels: { mine: "1" } } },
  };
  await ns.apply(foreign);
  const before = await ns.get("networkpolicy", POLICY);
  await ns.patch("sandboxtemplate", "python", { spec: { networkPolicyManagement: "Managed" } });
  await ns.kubectl("label", "sandboxtemplate", "python", `${HASH}-`);
  await ns.until("sandboxtemplate", "python", (object) => object.metadata.labels?.[HASH] === "0fceff97");
  expect((await ns.get("networkpolicy", POLICY)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});
