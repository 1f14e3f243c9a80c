/** A template's NetworkPolicy exists from the first Pod to the last: hooks, keeper and binder together. */
import { expect, test } from "vitest";
import { sandboxTemplateHook } from "../../hooks/sandboxtemplate/hook.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import { createTestCluster, type TestCluster } from "../../packages/testing/mod.ts";
import { claim, conditionOf, pool } from "./objects.ts";

const HASH = "agents.x-k8s.io/sandbox-template-ref-hash";
const MINUTE = 60_000;
const policies = (cluster: TestCluster) =>
  cluster.objects("NetworkPolicy").map(({ metadata }) => [
    metadata.name,
    metadata.ownerReferences?.map(({ kind }) => kind).join(),
  ]);
// deno-lint-ignore no-explicit-any -- objects as tests look at them
const apply = (cluster: TestCluster, ...objects: any[]) => cluster.apply(...objects);
const message = (cluster: TestCluster, kind: string, name: string, type: string): string =>
  // deno-lint-ignore no-explicit-any -- objects as tests look at them
  (cluster.get(kind, name) as any)?.status?.conditions?.find((one: { type: string }) => one.type === type)?.message;

/** A hook for templates that makes no policy until the test allows it. */
function withheld(): { hook: () => HookCalls; allow(): void } {
  const real = sandboxTemplateHook({ deniedEgressCidrs: [] });
  let isAllowed = false;
  const sync: HookCalls["sync"] = (...call) =>
    isAllowed ? real.sync(...call) : { answer: { attachments: [] }, losses: [], held: [] };
  return { hook: () => ({ ...real, sync }), allow: () => isAllowed = true };
}

/** A hook for templates that stops changing policies when a test asks for it. */
function stopping(): { hook: () => HookCalls; stop(): void } {
  const real = sandboxTemplateHook({ deniedEgressCidrs: [] });
  let isStopped = false;
  const sync: HookCalls["sync"] = (body, ...rest) => {
    if (!isStopped) return real.sync(body, ...rest);
    const { attachments } = body as { attachments: Record<string, Record<string, KubeObject>> };
    const kept = Object.values(attachments["NetworkPolicy.networking.k8s.io/v1"] ?? {}).map(unchanged);
    return { answer: { attachments: kept }, losses: [], held: [] };
  };
  return { hook: () => ({ ...real, sync }), stop: () => isStopped = true };
}

test("the policy outlives its template as long as a Pod or a suspended Sandbox needs it, whatever the template is called", async () => {
  // The second is the namespace's own name, which Metacontroller's merge could not keep apart.
  for (const name of ["shell", "default"]) {
    await using cluster = await createTestCluster();
    const [template, warm] = pool(1) as [object, { spec: object }];
    const spec = { replicas: 1, sandboxTemplateRef: { name } };
    await apply(cluster, { ...template, metadata: { name } }, { ...warm, spec });
    await cluster.clock.advance(10_000);
    await apply(cluster, claim("c"));
    await cluster.clock.advance(MINUTE);
    await cluster.delete("SandboxWarmPool", "shells");
    await cluster.delete("SandboxTemplate", name);
    await cluster.clock.advance(20 * MINUTE);
    const bound = (cluster.get("SandboxClaim", "c") as unknown as { status: { sandbox: { name: string } } }).status;
    expect(policies(cluster)).toEqual([[`${name}-network-policy`, "Namespace"]]);
    await cluster.patch("Sandbox", bound.sandbox.name, { spec: { operatingMode: "Suspended" } });
    await cluster.clock.advance(20 * MINUTE);
    expect([cluster.objects("Pod"), policies(cluster).length]).toEqual([[], 1]);
    await cluster.delete("SandboxClaim", "c");
    await cluster.clock.advance(20 * MINUTE);
    expect([policies(cluster), cluster.faults()]).toEqual([[], []]);
  }
});

test("a template that is made anew has its rules in force again, and its pool waits for that", async () => {
  await using cluster = await createTestCluster();
  const [template, warm] = pool(1) as [{ spec: object }, object];
  await apply(cluster, template, warm);
  await cluster.clock.advance(MINUTE);
  await cluster.delete("SandboxTemplate", "shell");
  await cluster.clock.advance(5000);
  await apply(cluster, { ...template, spec: { ...template.spec, networkPolicy: {} } });
  await cluster.clock.advance(MINUTE);
  const [policy] = cluster.objects("NetworkPolicy") as unknown as { spec: object; metadata: object }[];
  expect(policies(cluster)).toEqual([["shell-network-policy", "SandboxTemplate,Namespace"]]);
  expect(policy?.spec).not.toHaveProperty("egress");
  await apply(cluster, claim("c"));
  await cluster.clock.advance(MINUTE);
  expect(conditionOf(cluster.get("SandboxClaim", "c"), "Ready")).toBe("True DependenciesReady");
  expect([cluster.objects("NetworkPolicy").length, cluster.faults()]).toEqual([1, []]);
});

test("no Pod of a template starts before its policy is there: neither a pool's nor a claim's own; each says why", async () => {
  const { hook, allow } = withheld();
  await using cluster = await createTestCluster({ hooks: { sandboxtemplate: hook } });
  const [template, warm] = pool(2) as [{ spec: object }, object];
  await apply(cluster, { ...template, spec: { ...template.spec, envVarsInjectionPolicy: "Allowed" } }, warm);
  await apply(cluster, claim("warm"), claim("cold", { env: [{ name: "A", value: "1" }] }));
  await cluster.clock.advance(MINUTE);
  expect([cluster.objects("Sandbox"), cluster.objects("Pod")]).toEqual([[], []]);
  const words = 'NetworkPolicy "shell-network-policy" does not exist';
  for (const name of ["warm", "cold"]) {
    expect(conditionOf(cluster.get("SandboxClaim", name), "Ready")).toBe("False ReconcilerError");
    expect(message(cluster, "SandboxClaim", name, "Ready")).toContain(words);
  }
  expect(conditionOf(cluster.get("SandboxWarmPool", "shells"), "Progressing")).toBe("False NetworkPolicyMissing");
  expect(message(cluster, "SandboxWarmPool", "shells", "NetworkPolicy")).toContain(words);
  expect(cluster.get("SandboxTemplate", "shell")?.metadata.annotations?.["agents.x-k8s.io/unresolved"])
    .toContain('"state":"missing"');
  allow();
  await cluster.patch("SandboxTemplate", "shell", { metadata: { labels: { a: "b" } } });
  await cluster.clock.advance(MINUTE);
  for (const name of ["warm", "cold"]) {
    expect(conditionOf(cluster.get("SandboxClaim", name), "Ready")).toBe("True DependenciesReady");
  }
  expect(conditionOf(cluster.get("SandboxWarmPool", "shells"), "NetworkPolicy")).toBeUndefined();
  expect(cluster.get("SandboxTemplate", "shell")?.metadata.annotations?.["agents.x-k8s.io/unresolved"]).toBeUndefined();
});

test("nothing starts under the rules of an earlier generation of the template, and no member is bound", async () => {
  const { hook, stop } = stopping();
  await using cluster = await createTestCluster({ hooks: { sandboxtemplate: hook } });
  const [template, warm] = pool(1) as [{ spec: object }, object];
  await apply(cluster, { ...template, spec: { ...template.spec, envVarsInjectionPolicy: "Allowed" } }, warm);
  await cluster.clock.advance(MINUTE);
  stop();
  await cluster.patch("SandboxTemplate", "shell", { spec: { networkPolicy: {} } });
  await cluster.patch("SandboxWarmPool", "shells", { spec: { replicas: 3 } });
  await apply(cluster, claim("warm"), claim("cold", { env: [{ name: "A", value: "1" }] }));
  await cluster.clock.advance(MINUTE);
  expect(cluster.objects("Sandbox")).toHaveLength(1);
  for (const name of ["warm", "cold"]) {
    const words = "does not have the template's rules of generation 2";
    expect(message(cluster, "SandboxClaim", name, "Ready")).toContain(words);
  }
});

test("where the operator allows it sandboxes start without the policy, and the pool says that it is missing", async () => {
  const settings = { templateNetworkPolicy: "optional" } as const;
  await using cluster = await createTestCluster({ hooks: { sandboxtemplate: withheld().hook }, settings });
  await apply(cluster, ...pool(1), claim("c"));
  await cluster.clock.advance(MINUTE);
  expect(conditionOf(cluster.get("SandboxClaim", "c"), "Ready")).toBe("True DependenciesReady");
  expect(conditionOf(cluster.get("SandboxWarmPool", "shells"), "NetworkPolicy")).toBe("False NetworkPolicyMissing");
});

test("no member that runs is given away once its policy is lost, and another policy of its name is none", async () => {
  await using cluster = await createTestCluster();
  await apply(cluster, ...pool(1));
  await cluster.clock.advance(MINUTE);
  const taken = cluster.objects("NetworkPolicy")[0];
  const annotations = { "metacontroller.k8s.io/decorator-controller": null };
  const metadata = { ownerReferences: [], annotations };
  await cluster.patch("NetworkPolicy", taken?.metadata.name ?? "", { metadata });
  await apply(cluster, claim("c"));
  await cluster.clock.advance(MINUTE);
  expect(message(cluster, "SandboxClaim", "c", "Ready")).toContain("not controlled by SandboxTemplate");
  expect(conditionOf(cluster.get("SandboxWarmPool", "shells"), "NetworkPolicy")).toBe("False NetworkPolicyNotOwned");
  expect(cluster.objects("Pod").map(({ metadata: { labels } }) => labels?.[HASH])).toEqual(["11e1fc01"]);
});
