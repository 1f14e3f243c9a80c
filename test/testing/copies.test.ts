/** Copies of Sandboxes and claims, in a cluster in memory: what our processes noted on the original is no fact of the copy. @module */
import { expect, test } from "vitest";
import { idleExpiryText } from "../../packages/api/expiry.ts";
import { extendTimeoutOf } from "../../packages/sdk/control/change.ts";
import { findPod } from "../../packages/sdk/setup/clientcontext.ts";
import { type ClaimOrSandbox, infoOf } from "../../packages/sdk/control/readiness.ts";
import { createTestCluster } from "../../packages/testing/mod.ts";
import { claim, conditionOf, pool, sandbox } from "./objects.ts";

type Cluster = Awaited<ReturnType<typeof createTestCluster>>;

/** Applies to the cluster what `kubectl get -o yaml`, another name and `kubectl create` make of an object: no status, a new UID. */
async function copy(cluster: Cluster, kind: string, from: string, to: string) {
  const { apiVersion, metadata: { labels = {}, annotations = {} }, spec } = cluster.get(kind, from)!;
  await cluster.apply({ apiVersion, kind, metadata: { name: to, labels, annotations }, spec });
}

/** As a router does: suspends a Sandbox, and lets it expire at `shutdownTime`. */
async function letExpire(cluster: Cluster, name: string, shutdownTime: string) {
  await cluster.apply(sandbox(name, { operatingMode: "Suspended" }));
  await cluster.clock.advance(10_000);
  const { metadata, spec } = cluster.get("Sandbox", name)!;
  const annotations = { "router.agents.x-k8s.io/idle-expired": idleExpiryText({ metadata, spec }, shutdownTime) };
  await cluster.apply({
    ...sandbox(name, { shutdownTime, shutdownPolicy: "Delete" }),
    metadata: { name, annotations },
  });
}

test("a copy of a Sandbox that a router let expire stays, and so does one that a backup restores under its name", async () => {
  await using cluster = await createTestCluster();
  const end = new Date(cluster.clock.now() + 60_000).toISOString();
  await cluster.apply(sandbox("a", { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] }));
  await cluster.clock.advance(1000);
  await letExpire(cluster, "a", end);
  await copy(cluster, "Sandbox", "a", "b");
  const backup = cluster.get("Sandbox", "a")!;
  await cluster.clock.advance(120_000);
  expect(cluster.get("Sandbox", "a"), "the router's end is that of the original").toBeUndefined();
  expect(conditionOf(cluster.get("Sandbox", "b"), "Suspended")).toBe("True PodTerminated");
  expect(cluster.objects("PersistentVolumeClaim").map(({ metadata }) => metadata.name)).toEqual(["data-b"]);

  const { apiVersion, kind, metadata: { name, annotations }, spec } = backup;
  await cluster.apply({ apiVersion, kind, metadata: { name, annotations }, spec });
  await cluster.clock.advance(120_000);
  expect(conditionOf(cluster.get("Sandbox", "a"), "Suspended")).toBe("True PodTerminated");
  expect(cluster.faults()).toEqual([]);
});

test("a copy gets a Pod and problems of its own, whatever was noted of those of the original", async () => {
  await using cluster = await createTestCluster();
  await cluster.apply(sandbox("a"));
  await cluster.clock.advance(1000);
  const problems = [{ kind: "Pod", name: "a", state: "invalid", message: "no" }];
  const annotations = {
    "agents.x-k8s.io/pod-name": "a",
    "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }),
    "agents.x-k8s.io/refused-write": JSON.stringify({ verb: "update", words: "no" }),
    "agents.x-k8s.io/assigned-at": "2020-01-01T00:00:00.000Z",
    "agents.x-k8s.io/woken-at": "2020-01-01T00:00:00.000Z",
    "agents.x-k8s.io/for-claim": "another",
    "agents.x-k8s.io/pool-sequence": "1/1",
    "router.agents.x-k8s.io/woken-at": "2020-01-01T00:00:00Z",
    "router.agents.x-k8s.io/active-at": "2020-01-01T00:00:00Z router-1",
  };
  await cluster.apply({ ...sandbox("b"), metadata: { name: "b", annotations } });
  const ready = (found: unknown) => conditionOf(found, "Ready") === "True DependenciesReady";
  await cluster.until("Sandbox", "b", ready, 60_000);
  await cluster.clock.advance(60_000);
  expect(cluster.objects("Pod").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
  const left = Object.keys(cluster.get("Sandbox", "b")?.metadata.annotations ?? {});
  expect(left).not.toContain("agents.x-k8s.io/pod-name");
  expect(left).not.toContain("agents.x-k8s.io/unresolved");
  expect(left).not.toContain("agents.x-k8s.io/refused-write");
  expect(conditionOf(cluster.get("Sandbox", "a"), "Ready")).toBe("True DependenciesReady");
  expect(cluster.faults()).toEqual([]);
});

test("a copy of a claim gets a Sandbox of its own, and the original keeps the one it has", async () => {
  await using cluster = await createTestCluster();
  await cluster.apply(...pool(2), claim("a"));
  const ready = (found: unknown) => conditionOf(found, "Ready") === "True DependenciesReady";
  const first = (await cluster.until("SandboxClaim", "a", ready))!;
  await copy(cluster, "SandboxClaim", "a", "b");
  const second = await cluster.until("SandboxClaim", "b", ready);
  await cluster.clock.advance(60_000);
  const nameOf = (name: string) => cluster.get("SandboxClaim", name)!.status.sandbox.name;
  expect(nameOf("a")).toBe(first.status.sandbox.name);
  expect(nameOf("b")).not.toBe(nameOf("a"));
  expect(second?.metadata.annotations).toMatchObject({ "agents.x-k8s.io/sandbox-name": nameOf("b") });
  expect(cluster.faults()).toEqual([]);
});

test("a copy of a claim's Sandbox takes nothing from the claim", async () => {
  await using cluster = await createTestCluster();
  await cluster.apply(...pool(1), claim("a"));
  const ready = (found: unknown) => conditionOf(found, "Ready") === "True DependenciesReady";
  const { status: { sandbox: { name } } } = (await cluster.until("SandboxClaim", "a", ready))!;
  const { apiVersion, kind, metadata: { labels, annotations, ownerReferences }, spec } = cluster.get("Sandbox", name)!;
  await cluster.apply({ apiVersion, kind, metadata: { name: "free", labels, annotations }, spec });
  await cluster.apply({ apiVersion, kind, metadata: { name: "owned", labels, annotations, ownerReferences }, spec });
  await cluster.clock.advance(60_000);
  expect(cluster.get("SandboxClaim", "a")!.status.sandbox.name).toBe(name);
  expect(conditionOf(cluster.get("Sandbox", name), "Ready")).toBe("True DependenciesReady");
  expect(conditionOf(cluster.get("Sandbox", "free"), "Ready"), "without an owner it is its user's").toBe(
    "True DependenciesReady",
  );
  expect(cluster.get("Sandbox", "owned"), "with the owner it is the claim's second").toBeUndefined();
  expect(cluster.faults()).toEqual([]);
});

test("the SDK counts an end that does not hold as none, and finds a copy's own Pod", async () => {
  await using cluster = await createTestCluster({ time: "auto" });
  const shutdownTime = "2020-01-01T00:00:00Z";
  const of = { metadata: { uid: "of-another", generation: 1 }, spec: { shutdownPolicy: "Retain" } };
  const annotations = {
    "agents.x-k8s.io/pod-name": "a",
    "router.agents.x-k8s.io/idle-expired": idleExpiryText(of, shutdownTime),
  };
  const [box] = await cluster.apply(sandbox("a"));
  const namespace = box?.metadata.namespace ?? "";
  await cluster.apply({
    ...sandbox("b", { shutdownTime, shutdownPolicy: "Delete" }),
    metadata: { name: "b", annotations },
  });
  const target = { kind: "Sandbox", namespace, name: "b" } as const;
  await expect(extendTimeoutOf(cluster.api, target, 1000)).rejects.toThrow("it has none");
  expect(infoOf(cluster.get("Sandbox", "b") as unknown as ClaimOrSandbox).expiresAt).toBeUndefined();
  expect(await findPod(cluster.api, namespace, "b", { wake: true })).toMatchObject({ name: "b" });
});
