/** The life of a Sandbox on a real API server: made, changed, suspended, resumed, lost, deleted. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { condition, type Loose, makeNamespace, ON_SIMULATED_NODES, sleeper, VOLUME } from "./namespace.ts";
import "./suite.ts";

const uid = (object: Loose) => object?.metadata.uid;
const example = () => parse(readFileSync(new URL("../../examples/sandbox.yaml", import.meta.url), "utf8"));

test("the example becomes Ready with an address, a Service and a bound volume", async () => {
  const ns = await makeNamespace();
  await ns.apply(example());
  const sandbox = await ns.untilReason("demo", "DependenciesReady");
  expect(condition(sandbox, "Ready")).toMatchObject({ status: "True", message: "Pod is Ready; Service Exists" });
  expect(condition(sandbox, "PodScheduled")).toMatchObject({ status: "True", reason: "PodScheduled" });
  expect(condition(sandbox, "Suspended")).toMatchObject({ status: "False", reason: "NotSuspended" });
  expect(sandbox.status).toMatchObject({
    service: "demo",
    serviceFQDN: `demo.${ns.name}.svc.cluster.local`,
    selector: "agents.x-k8s.io/sandbox-name-hash=aefd3536",
    observedGeneration: 1,
  });
  const pod = await ns.get("pod", "demo");
  expect(sandbox.status.podIPs).toEqual(pod.status.podIPs.map(({ ip }: Loose) => ip));
  expect(sandbox.status.nodeName).toBe(pod.spec.nodeName);
  expect(pod.metadata.labels).toMatchObject({ app: "demo", "agents.x-k8s.io/sandbox-name-hash": "aefd3536" });
  expect(pod.metadata.annotations["agents.x-k8s.io/propagated-labels"]).toBe("app");
  expect(pod.metadata.ownerReferences).toEqual([{
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    name: "demo",
    uid: uid(sandbox),
    controller: true,
    blockOwnerDeletion: true,
  }]);
  expect((await ns.get("pvc", "work-demo")).status.phase).toBe("Bound");
  const service = await ns.get("service", "demo");
  expect(service.spec).toMatchObject({ clusterIP: "None", ports: [{ name: "http", port: 8888, targetPort: 8888 }] });
});

test("suspend deletes the Pod alone, resume makes it again on the same volume", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { ...VOLUME, service: true }));
  const before = await ns.untilReason("s", "DependenciesReady");
  const [pod, pvc, service] = await Promise.all([ns.get("pod", "s"), ns.get("pvc", "data-s"), ns.get("service", "s")]);

  await ns.patch("sandbox", "s", { spec: { operatingMode: "Suspended" } });
  const suspended = await ns.until("sandbox", "s", (s) => condition(s, "Suspended")?.status === "True");
  expect(condition(suspended, "Suspended")).toMatchObject({ reason: "PodTerminated", observedGeneration: 2 });
  expect(condition(suspended, "Ready")).toMatchObject({ reason: "SandboxSuspended", message: "Sandbox is suspended" });
  expect(condition(suspended, "PodScheduled")).toBeUndefined();
  expect(suspended.status.podIPs).toBeUndefined();
  expect(suspended.status).toMatchObject({ service: "s", selector: before.status.selector });
  expect(await ns.get("pod", "s")).toBeUndefined();

  await ns.patch("sandbox", "s", { spec: { operatingMode: "Running" } });
  const resumed = await ns.untilReason("s", "DependenciesReady");
  const again = await ns.get("pod", "s");
  expect(uid(again)).not.toBe(uid(pod));
  expect(resumed.status.podIPs).toEqual(again.status.podIPs.map(({ ip }: Loose) => ip));
  expect(uid(await ns.get("pvc", "data-s"))).toBe(uid(pvc));
  expect(uid(await ns.get("service", "s"))).toBe(uid(service));
});

test("a Sandbox made in mode Suspended has volume and Service, and no Pod", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { ...VOLUME, service: true, operatingMode: "Suspended" }));
  await ns.until("sandbox", "s", (s) => condition(s, "Suspended")?.status === "True" && s.status.service === "s");
  expect(await ns.get("pvc", "data-s")).toBeDefined();
  expect(await ns.list("pods")).toEqual([]);
});

test("a Pod that is deleted comes back under its name, on the same volume", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", VOLUME));
  await ns.untilReason("s", "DependenciesReady");
  const [pod, pvc] = await Promise.all([ns.get("pod", "s"), ns.get("pvc", "data-s")]);
  await ns.kubectl("delete", "pod", "s", "--wait=false");
  await ns.until("pod", "s", (now) => now !== undefined && uid(now) !== uid(pod));
  await ns.untilReason("s", "DependenciesReady");
  expect(uid(await ns.get("pvc", "data-s"))).toBe(uid(pvc));
});

test("template labels and annotations reach the live Pod; its spec and uid stay", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { podTemplate: { metadata: { labels: { a: "1", b: "1" }, annotations: { n: "1" } } } }));
  await ns.untilReason("s", "DependenciesReady");
  const before = await ns.get("pod", "s");
  const containers = [{ name: "main", image: "busybox:other", command: ["sleep", "1"] }];
  const metadata = {
    labels: { a: "2", b: null, "agents.x-k8s.io/claim-uid": "forged" },
    annotations: { n: null, m: "1" },
  };
  await ns.patch("sandbox", "s", { spec: { podTemplate: { metadata, spec: { containers } } } });
  const after = await ns.until("pod", "s", (pod) => pod.metadata.labels.a === "2");
  expect(after.metadata.labels).not.toHaveProperty("b");
  expect(after.metadata.labels).not.toHaveProperty("agents.x-k8s.io/claim-uid");
  expect(after.metadata.annotations).toMatchObject({ m: "1", "agents.x-k8s.io/propagated-annotations": "m" });
  expect(after.metadata.annotations).not.toHaveProperty("n");
  expect(after.metadata.annotations["agents.x-k8s.io/propagated-labels"]).toBe("a");
  expect(uid(after)).toBe(uid(before));
  expect(after.spec).toEqual(before.spec);
  const isOutdated = (sandbox: Loose) => condition(sandbox, "PodOutdated")?.status === "True";
  await ns.until("sandbox", "s", isOutdated);

  await ns.kubectl("label", "pod", "s", "a=drifted", "--overwrite");
  await ns.until("pod", "s", (pod) => pod.metadata.labels.a === "2");
  await ns.kubectl("delete", "pod", "s", "--wait=false");
  await ns.until("sandbox", "s", (sandbox) => !isOutdated(sandbox));
  await ns.until("pod", "s", (pod) => pod.spec.containers[0].image === "busybox:other");
});

test("spec.service: true makes and repairs, absent keeps, false removes", async () => {
  const ns = await makeNamespace();
  const ports = [{ containerPort: 80, name: "web" }, { containerPort: 9000, protocol: "UDP" }];
  const container = { name: "main", image: "busybox:1.37", command: ["sleep", "86400"], ports };
  await ns.apply(sleeper("s", {}, { containers: [container] }));
  expect(condition(await ns.untilReason("s", "DependenciesReady"), "Ready").message).toBe("Pod is Ready");
  expect(await ns.get("service", "s")).toBeUndefined();

  await ns.patch("sandbox", "s", { spec: { service: true } });
  const service = await ns.until("service", "s", (object) => object !== undefined);
  expect(service.spec.ports).toMatchObject([{ name: "web", port: 80 }, {
    name: "p-9000-udp",
    port: 9000,
    protocol: "UDP",
  }]);
  await ns.patch("service", "s", { spec: { selector: { "agents.x-k8s.io/sandbox-name-hash": "wrong" } } });
  await ns.until("service", "s", (s) => s.spec.selector["agents.x-k8s.io/sandbox-name-hash"] !== "wrong");

  await ns.patch("sandbox", "s", { spec: { service: null } });
  await ns.until("sandbox", "s", (s) => s.status.observedGeneration === 3);
  expect((await ns.get("sandbox", "s")).status.service).toBe("s");
  expect(uid(await ns.get("service", "s"))).toBe(uid(service));

  await ns.patch("sandbox", "s", { spec: { service: false } });
  await ns.until("service", "s", (object) => object === undefined);
  const sandbox = await ns.until("sandbox", "s", (s) => s.status.service === undefined);
  expect(condition(sandbox, "Ready").message).toBe("Pod is Ready");
});

test.for([["Failed", "Pod failed"], ["Succeeded", "Pod completed successfully"]] as const)(
  "a Pod that is %s is kept and never replaced",
  async ([phase, message]) => {
    const ns = await makeNamespace();
    await ns.apply(sleeper("s", {}, ON_SIMULATED_NODES));
    await ns.untilReason("s", "DependenciesReady");
    const before = await ns.get("pod", "s");
    await ns.patch("pod", "s", { status: { phase, conditions: null } }, "--subresource=status");
    const sandbox = await ns.untilReason("s", `Pod${phase}`);
    expect(condition(sandbox, "Finished")).toMatchObject({ status: "True", reason: `Pod${phase}`, message });
    expect(condition(sandbox, "Ready")).toMatchObject({ status: "False", message });
    expect(uid(await ns.get("pod", "s"))).toBe(uid(before));
  },
);

test("two Pods of one Sandbox: nothing is chosen, deleted or made", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", {}, ON_SIMULATED_NODES));
  await ns.untilReason("s", "DependenciesReady");
  const { metadata, spec } = await ns.get("pod", "s");
  const { labels, ownerReferences } = metadata;
  const { nodeName: _, ...podSpec } = spec;
  await ns.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "twin", labels, ownerReferences }, spec: podSpec });
  const sandbox = await ns.untilReason("s", "MultiplePods");
  expect(condition(sandbox, "Ready").message).toBe(
    "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod",
  );
  expect(sandbox.status.podIPs).toBeUndefined();
  expect((await ns.list("pods")).length).toBe(2);
  await ns.kubectl("delete", "pod", "twin", "--wait=false");
  await ns.untilReason("s", "DependenciesReady");
});

test("deleting a Sandbox takes Pod, Service and volume along", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { ...VOLUME, service: true }));
  await ns.untilReason("s", "DependenciesReady");
  await ns.kubectl("delete", "sandbox", "s");
  for (const [kind, name] of [["pod", "s"], ["service", "s"], ["pvc", "data-s"]] as const) {
    expect(await ns.until(kind, name, (object) => object === undefined)).toBeUndefined();
  }
});
