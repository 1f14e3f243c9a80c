/** On a real API server: an admission policy refuses changes and deletions of a Sandbox's children. @module */
import { onTestFinished, test } from "vitest";
import { condition, type Loose, makeNamespace, type Namespace, sleeper } from "./namespace.ts";
import "./suite.ts";

/** Makes the API server refuse such requests for Pods and Services in a namespace. Returns a function that allows them again. */
async function freeze(ns: Namespace, operations: string[], expression = "false"): Promise<() => Promise<void>> {
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["pods", "services"], operations };
  const group = "admissionregistration.k8s.io/v1";
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns.name } };
  const metadata = { name: `freeze-${ns.name}` };
  const items = [
    {
      ...{ apiVersion: group, kind: "ValidatingAdmissionPolicy", metadata },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression, message: "change freeze until Monday" }],
      },
    },
    {
      ...{ apiVersion: group, kind: "ValidatingAdmissionPolicyBinding", metadata },
      spec: { policyName: metadata.name, validationActions: ["Deny"], matchResources: { namespaceSelector } },
    },
  ];
  await ns.apply(...items);
  const kinds = "validatingadmissionpolicy,validatingadmissionpolicybinding";
  const end = async () => void await ns.kubectl("delete", kinds, metadata.name, "--ignore-not-found");
  onTestFinished(end);
  return end;
}

const says = (type: string, reason: string) => (sandbox: Loose) =>
  condition(sandbox, type)?.reason === reason &&
  condition(sandbox, type).message.includes("change freeze until Monday");

test("a Pod that cannot be deleted: Suspended and Ready say why, until it can", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("demo"));
  await ns.untilReason("demo", "DependenciesReady");
  const allow = await freeze(ns, ["DELETE"]);
  // Policies take a moment: a refused dry run shows that this one has come into force.
  while ((await ns.attempt("delete", "pod", "demo", "--dry-run=server")).code === 0);
  await ns.patch("sandbox", "demo", { spec: { operatingMode: "Suspended" } });
  await ns.until("sandbox", "demo", says("Suspended", "PodDeletionRefused"));
  await ns.until("sandbox", "demo", says("Ready", "ReconcilerError"));
  await allow();
  await ns.untilReason("demo", "SandboxSuspended");
  await ns.until("sandbox", "demo", (sandbox) => condition(sandbox, "Suspended")?.status === "True");
});

test("a Pod whose labels cannot be changed: Ready says why, until they can", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("demo"));
  await ns.untilReason("demo", "DependenciesReady");
  const allow = await freeze(ns, ["UPDATE"], "!has(object.metadata.labels.team)");
  while ((await ns.attempt("label", "pod", "demo", "team=x", "--dry-run=server")).code === 0);
  await ns.patch("sandbox", "demo", { spec: { podTemplate: { metadata: { labels: { team: "red" } } } } });
  await ns.until("sandbox", "demo", says("Ready", "ReconcilerError"));
  await allow();
  await ns.untilReason("demo", "DependenciesReady");
  await ns.until("pod", "demo", ({ metadata }) => metadata.labels.team === "red");
});
