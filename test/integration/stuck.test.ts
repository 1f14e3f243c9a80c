/** On a real API server: an admission policy refuses changes and deletions of children of Sandboxes and pools. @module */
import { onTestFinished, test } from "vitest";
import { condition, type Loose, makeNamespace, type Namespace, sleeper } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "./pools.ts";
import "./suite.ts";

/** Makes the API server refuse such requests for Pods, Services and Sandboxes in a namespace. Returns a function that allows them again. */
async function freeze(ns: Namespace, operations: string[], expression = "false"): Promise<() => Promise<void>> {
  const rules = [
    { apiGroups: [""], apiVersions: ["v1"], resources: ["pods", "services"], operations },
    { apiGroups: ["agents.x-k8s.io"], apiVersions: ["v1beta1"], resources: ["sandboxes"], operations },
  ];
  const group = "admissionregistration.k8s.io/v1";
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns.name } };
  const metadata = { name: `freeze-${ns.name}` };
  const items = [
    {
      ...{ apiVersion: group, kind: "ValidatingAdmissionPolicy", metadata },
      spec: {
        matchConstraints: { resourceRules: rules },
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

/** Makes a namespace with a Ready claim "c" from a pool. Returns the name of its Sandbox. */
async function aBoundClaim(): Promise<{ ns: Namespace; name: string }> {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("c", "p"));
  const { status: { sandbox: { name } } } = await untilReady(ns, "c");
  return { ns, name };
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
  const allow = await freeze(ns, ["UPDATE"], "!has(object.metadata.labels) || !has(object.metadata.labels.team)");
  while ((await ns.attempt("label", "pod", "demo", "team=x", "--dry-run=server")).code === 0);
  await ns.patch("sandbox", "demo", { spec: { podTemplate: { metadata: { labels: { team: "red" } } } } });
  await ns.until("sandbox", "demo", says("Ready", "ReconcilerError"));
  await allow();
  await ns.untilReason("demo", "DependenciesReady");
  await ns.until("pod", "demo", ({ metadata }) => metadata.labels.team === "red");
});

test("a member that cannot be deleted: the pool says why, goes on, and deletes it once it can", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 2, "t"));
  await untilFull(ns, "p");
  const allow = await freeze(ns, ["DELETE"]);
  const [{ metadata: { name } }] = (await ns.list("sandbox")) as [Loose];
  while ((await ns.attempt("delete", "sandbox", name, "--dry-run=server")).code === 0);
  await ns.patch("sandboxwarmpool", "p", { spec: { replicas: 1 } });
  await ns.until("sandboxwarmpool", "p", says("Progressing", "ReconcilerError"));
  await ns.apply(aClaim("c", "p"));
  await untilReady(ns, "c");
  await ns.until("sandboxwarmpool", "p", ({ status }) => status.readyReplicas === 1 && status.replicas === 1);
  await allow();
  await ns.until("sandboxwarmpool", "p", (pool) => condition(pool, "Progressing")?.reason === "Full");
  await untilFull(ns, "p");
});

test("a Sandbox that expires, and whose Pod cannot be deleted: Ready says both, until it can", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("demo"));
  await ns.untilReason("demo", "DependenciesReady");
  const allow = await freeze(ns, ["DELETE"]);
  while ((await ns.attempt("delete", "pod", "demo", "--dry-run=server")).code === 0);
  await ns.patch("sandbox", "demo", { spec: { shutdownTime: "2026-01-01T00:00:00Z", shutdownPolicy: "Retain" } });
  await ns.until("sandbox", "demo", says("Ready", "SandboxExpired"));
  await allow();
  await ns.until("pod", "demo", (pod) => pod === undefined);
  await ns.until("sandbox", "demo", (sandbox) => condition(sandbox, "Ready")?.message === "Sandbox has expired");
});

test("a claim whose Sandbox cannot be changed: the claim's Ready says why, until it can", async () => {
  const { ns, name } = await aBoundClaim();
  const isRed = "object.spec.?podTemplate.?metadata.?labels[?'sandbox.users.io/team'].orValue('') == 'red'";
  const allow = await freeze(ns, ["UPDATE"], `!has(object.spec.podTemplate) || !(${isRed})`);
  const red = { metadata: { labels: { "sandbox.users.io/team": "red" } } };
  const attempt = JSON.stringify({ spec: { podTemplate: red } });
  while ((await ns.attempt("patch", "sandbox", name, "--type=merge", "-p", attempt, "--dry-run=server")).code === 0);
  await ns.patch("sandboxclaim", "c", { spec: { additionalPodMetadata: red.metadata } });
  await ns.until("sandboxclaim", "c", says("Ready", "ReconcilerError"));
  await allow();
  await ns.until("sandboxclaim", "c", (claim) => condition(claim, "Ready")?.status === "True");
  await ns.until("pod", name, ({ metadata }) => metadata.labels["sandbox.users.io/team"] === "red");
});

test("a claim whose Sandbox nobody may change: the claim is Ready, and says that its metadata is not applied", async () => {
  const { ns, name } = await aBoundClaim();
  const allow = await freeze(ns, ["UPDATE"]);
  while ((await ns.attempt("label", "sandbox", name, "team=x", "--dry-run=server")).code === 0);
  const metadata = { labels: { "sandbox.users.io/team": "red" } };
  await ns.patch("sandboxclaim", "c", { spec: { additionalPodMetadata: metadata } });
  const isBehind = (claim: Loose) => condition(claim, "Ready").message.endsWith("is not applied yet");
  await ns.until("sandboxclaim", "c", isBehind);
  await allow();
  await ns.until("sandboxclaim", "c", (claim) => !isBehind(claim) && condition(claim, "Ready").status === "True");
  await ns.until("pod", name, (pod) => pod.metadata.labels["sandbox.users.io/team"] === "red");
});

test("a claim that expires, and whose Sandbox cannot be deleted: Ready says both, until it can", async () => {
  const { ns, name } = await aBoundClaim();
  const allow = await freeze(ns, ["DELETE"]);
  while ((await ns.attempt("delete", "sandbox", name, "--dry-run=server")).code === 0);
  await ns.patch("sandboxclaim", "c", {
    spec: { lifecycle: { shutdownTime: "2026-01-01T00:00:00Z", shutdownPolicy: "Retain" } },
  });
  await ns.until("sandboxclaim", "c", says("Ready", "ClaimExpired"));
  await allow();
  await ns.until("sandbox", name, (sandbox) => sandbox === undefined);
  await ns.until("sandboxclaim", "c", (claim) => !condition(claim, "Ready").message.includes("change freeze"));
});
