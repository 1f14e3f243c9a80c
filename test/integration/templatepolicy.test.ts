/** NetworkPolicies of templates on a real API server: garbage collector, quotas, limits of size and name. */
import { expect, test } from "vitest";
import { condition, type Loose, makeNamespace, type Namespace } from "./namespace.ts";
import { run } from "./kubectl.ts";
import { aClaim, aPool, aTemplate } from "./pools.ts";
import "./suite.ts";

const SAYS = "agents.x-k8s.io/unresolved";
const ready = (object: Loose) => condition(object, "Ready")?.status === "True";
const message = (object: Loose, type: string): string => condition(object, type)?.message ?? "";
const kinds = (policy: Loose) => policy?.metadata.ownerReferences.map(({ kind }: Loose) => kind).join();
const ruled = (name: string, spec: object) => {
  const template: Loose = aTemplate(name);
  return { ...template, spec: { ...template.spec, networkPolicyManagement: "Managed", ...spec } };
};
const QUOTA = {
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "none" },
  spec: { hard: { "count/networkpolicies.networking.k8s.io": "0" } },
};

/** Nothing of the template starts, and everybody says why. */
async function untilHeld(ns: Namespace, template: string, words: string): Promise<void> {
  for (const name of ["warm", "cold"]) {
    const claim = await ns.until("sandboxclaim", name, (object) => message(object, "Ready").includes(words));
    expect(condition(claim, "Ready")).toMatchObject({ status: "False", reason: "ReconcilerError" });
  }
  const pool = await ns.until("sandboxwarmpool", "p", (object) => message(object, "NetworkPolicy").includes(words));
  expect(condition(pool, "Progressing")).toMatchObject({ status: "False", reason: "NetworkPolicyMissing" });
  expect((await ns.get("sandboxtemplate", template)).metadata.annotations[SAYS]).toContain(words);
  expect([await ns.list("sandbox"), await ns.list("pod")]).toEqual([[], []]);
}

const CLAIMS = [aClaim("warm", "p"), aClaim("cold", "p", { env: [{ name: "A", value: "1" }] })];

test("the policy outlives its template for as long as a sandbox needs it, and another of the name takes it over", async () => {
  const ns = await makeNamespace();
  // One is named like its namespace: Metacontroller could not tell the owners of its policy apart.
  const names = ["python", ns.name];
  for (const name of names) {
    await ns.apply(ruled(name, {}), aPool(`p-${name}`, 1, name), aClaim(`c-${name}`, `p-${name}`));
    await ns.until("sandboxclaim", `c-${name}`, ready);
    const policy = `${name}-network-policy`;
    await ns.until("networkpolicy", policy, (object) => kinds(object) === "SandboxTemplate,Namespace");
    await ns.kubectl("delete", "sandboxwarmpool", `p-${name}`);
    await ns.kubectl("delete", "sandboxtemplate", name, `--cascade=${name === "python" ? "foreground" : "background"}`);
    await ns.until("networkpolicy", policy, (object) => kinds(object) === "Namespace");
  }
  await ns.apply(ruled("python", { networkPolicy: {} }));
  const taken = await ns.until(
    "networkpolicy",
    "python-network-policy",
    (policy) => policy.spec.egress === undefined,
  );
  expect(kinds(taken)).toBe("SandboxTemplate,Namespace");
  await ns.kubectl("delete", "sandboxtemplate", "python");
  for (const name of names) {
    const { status } = await ns.get("sandboxclaim", `c-${name}`);
    expect(await ns.get("pod", status.sandbox.name)).toBeDefined();
    await ns.kubectl("delete", "sandboxclaim", `c-${name}`);
    await ns.until("networkpolicy", `${name}-network-policy`, (object) => object === undefined);
  }
});

test("while a quota refuses the policy nothing of its template starts; when it goes everything does", async () => {
  const ns = await makeNamespace();
  await ns.apply(QUOTA);
  await ns.until("resourcequota", "none", ({ status }) => status?.hard !== undefined);
  await ns.apply(ruled("t", { envVarsInjectionPolicy: "Allowed" }), aPool("p", 1, "t"), ...CLAIMS);
  await untilHeld(ns, "t", "exceeded quota: none");
  await ns.kubectl("delete", "resourcequota", "none");
  for (const name of ["warm", "cold"]) await ns.until("sandboxclaim", name, ready);
  const pool = await ns.until("sandboxwarmpool", "p", (object) => condition(object, "NetworkPolicy") === undefined);
  expect(condition(pool, "NetworkPolicy")).toBeUndefined();
});

test("rules that are too large for Metacontroller are named as such, and nothing starts without them", async () => {
  const ns = await makeNamespace();
  const except = Array.from({ length: 16_000 }, (_, i) => `${11 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24`);
  const networkPolicy = { egress: [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except } }] }] };
  // Not applied, which would annotate it with itself.
  const template = ruled("t", { networkPolicy, envVarsInjectionPolicy: "Allowed" });
  await run(ns.cluster, ["-n", ns.name, "create", "-f", "-"], JSON.stringify(template));
  await ns.apply(aPool("p", 1, "t"), ...CLAIMS);
  await untilHeld(ns, "t", "its rules are too large");
});

test("a template with the longest name that there is has a policy, and its sandboxes start", async () => {
  const ns = await makeNamespace();
  const name = `${"a".repeat(240)}.${"b".repeat(12)}`;
  await ns.apply(ruled(name, {}), aPool("p", 1, name), aClaim("c", "p"));
  await ns.until("sandboxclaim", "c", ready);
  const [policy] = await ns.list("networkpolicy");
  expect(policy.metadata.name).toMatch(/^a{229}-[0-9a-f]{8}-network-policy$/);
});
