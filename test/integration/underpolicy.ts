/** Accounts that are held by the admission policy of a process, and by nothing else; mutating admission of others. @module */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { attempt, run, until } from "./kubectl.ts";
import { makeNamespace, type Namespace, ON_SIMULATED_NODES, sleeper } from "./namespace.ts";
import type { BareCluster } from "./shared.ts";

const id = `admission-${randomBytes(3).toString("hex")}`;

/** Puts the policy of a process into force for an account of this test, which might do everything without it. */
export async function aProcess(
  cluster: BareCluster,
  name: "router" | "keeper" | "binder",
): Promise<{ ns: Namespace; as: string[] }> {
  const ns = await makeNamespace(cluster);
  const user = `system:serviceaccount:${ns.name}:${name}`;
  const policy = `${id}-${name}`;
  const file = new URL(`../../deploy/${name}/admission.yaml`, import.meta.url);
  // The policy for Sandboxes comes last: once the probe below meets it, the others are in force, too.
  const documents = readFileSync(file, "utf8").split(/^---$/m).reverse().join("\n---\n");
  const text = documents.replaceAll(/system:serviceaccount:[a-z-]+:hookbox-[a-z]+/g, user)
    .replaceAll(`ame: hookbox-${name}`, `ame: ${policy}`)
    // Where its Lease is.
    .replaceAll('request.namespace == "hookbox-system"', `request.namespace == "${ns.name}"`);
  await run(cluster, ["create", "clusterrolebinding", policy, "--clusterrole=cluster-admin", `--user=${user}`]);
  await run(cluster, ["apply", "-f", "-"], text);
  onTestFinished(async () => {
    await run(cluster, ["delete", "clusterrolebinding", policy]);
    await run(cluster, ["delete", "-f", "-"], text);
  });
  const kubectl = ["-n", ns.name, `--as=${user}`];
  // A policy takes a moment to be in force.
  await ns.apply(aSandbox("first"));
  const probe = () => {
    const podTemplate = { metadata: { labels: { probe: randomBytes(3).toString("hex") } } };
    const body = JSON.stringify({ spec: { podTemplate } });
    return attempt(cluster, [...kubectl, "patch", "sandbox", "first", "--type=merge", "-p", body]);
  };
  await until(probe, ({ stderr }) => stderr.includes(`The ${name} may change`));
  return { ns, as: kubectl };
}

/**
 * Puts mutating admission into force in a namespace, as clusters have it for costs or audits: it labels new Sandboxes,
 * and changes an annotation in each write of our kinds.
 */
export async function mutateWrites(ns: Namespace): Promise<void> {
  const stamp = `object.metadata.?annotations[?"stamp"].orValue("") + "x"`;
  const text = [
    mutation("label", ns, "sandboxes", "CREATE", `labels: Object.metadata.labels{team: "red"}`),
    mutation("stamp", ns, "*", "CREATE, UPDATE", `annotations: Object.metadata.annotations{stamp: ${stamp}}`),
  ].join("---\n");
  await run(ns.cluster, ["apply", "-f", "-"], text);
  onTestFinished(async () => void await run(ns.cluster, ["delete", "-f", "-"], text));
  const tried = async () => {
    const sandbox = JSON.stringify(aSandbox("tried"));
    const args = ["-n", ns.name, "create", "--dry-run=server", "-f", "-", "-o", "json"];
    // The API server may not know our kinds for mutations yet.
    const { code, stdout } = await attempt(ns.cluster, args, sandbox);
    return code === 0 ? JSON.parse(stdout).metadata : {};
  };
  await until(tried, ({ labels, annotations }) => labels?.team === "red" && annotations?.stamp === "x");
}

function mutation(name: string, ns: Namespace, resources: string, operations: string, metadata: string): string {
  return `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: { name: ${ns.name}-${name} }
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
      - apiGroups: [agents.x-k8s.io, extensions.agents.x-k8s.io]
        apiVersions: [v1beta1]
        resources: ["${resources}"]
        operations: [${operations}]
  matchConditions: [{ name: is-here, expression: request.namespace == "${ns.name}" }]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: 'Object{metadata: Object.metadata{${metadata}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: { name: ${ns.name}-${name} }
spec: { policyName: ${ns.name}-${name} }
`;
}

/** Makes a ConfigMap, and returns the reference by which it owns others. */
export async function makeOwner(ns: Namespace, name: string): Promise<object> {
  await ns.kubectl("create", "configmap", name);
  const uid = await ns.kubectl("get", "configmap", name, "-o", "jsonpath={.metadata.uid}");
  return { apiVersion: "v1", kind: "ConfigMap", name, uid };
}

export const aSandbox = (name: string) => sleeper(name, { volumeClaimTemplates: [] }, ON_SIMULATED_NODES);

export const past = "2026-01-01T00:00:00Z";
