/** What prevents a Sandbox from being Ready: foreign objects, invalid specs, admission. @module */
import { expect, test } from "vitest";
import {
  condition,
  forbidPods,
  type Loose,
  makeNamespace,
  type Namespace,
  ON_SIMULATED_NODES,
  sleeper,
} from "./namespace.ts";
import "./suite.ts";

const uid = (object: Loose) => object?.metadata.uid;
const pod = (name: string, labels: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
  spec: sleeper(name, {}, ON_SIMULATED_NODES).spec.podTemplate.spec,
});
const syncErrors = async (ns: Namespace) =>
  JSON.parse(await ns.kubectl("get", "events", "--field-selector=reason=SyncError", "-o", "json")).items.length;

test("a foreign Pod of the Sandbox's name is left alone and named; once it is gone the Sandbox gets its own", async () => {
  const ns = await makeNamespace();
  await ns.apply(pod("s"));
  const foreign = await ns.get("pod", "s");
  await ns.apply(sleeper("s", {}, ON_SIMULATED_NODES));
  const sandbox = await ns.untilReason("s", "ReconcilerError");
  expect(condition(sandbox, "Ready").message).toBe(
    'Error seen: cannot adopt unowned pod "s": missing required pool authorization label ' +
      '("agents.x-k8s.io/adoptable") or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
  );
  expect(condition(sandbox, "PodScheduled")).toMatchObject({ status: "Unknown", reason: "PodSchedulingUnknown" });
  expect(uid(await ns.get("pod", "s"))).toBe(uid(foreign));
  expect(sandbox.status.podIPs).toBeUndefined();

  await ns.patch("sandbox", "s", { spec: { operatingMode: "Suspended" } });
  const suspended = await ns.until("sandbox", "s", (s) => condition(s, "Suspended")?.reason === "PodNotOwned");
  expect(condition(suspended, "Ready")).toMatchObject({ reason: "SandboxSuspended", message: "Sandbox is suspending" });
  expect(uid(await ns.get("pod", "s"))).toBe(uid(foreign));

  await ns.patch("sandbox", "s", { spec: { operatingMode: "Running" } });
  await ns.kubectl("delete", "pod", "s", "--grace-period=0", "--force");
  await ns.untilReason("s", "DependenciesReady");
  expect((await ns.get("pod", "s")).metadata.ownerReferences[0].uid).toBe(uid(sandbox));
});

test("a Pod labelled adoptable is taken over as it runs", async () => {
  const ns = await makeNamespace();
  await ns.apply(pod("s", { "agents.x-k8s.io/adoptable": "true" }));
  const before = await ns.until("pod", "s", (p) => p.status.phase === "Running");
  await ns.apply(sleeper("s", { podTemplate: { metadata: { labels: { x: "1" } } } }, ON_SIMULATED_NODES));
  const sandbox = await ns.untilReason("s", "DependenciesReady");
  const after = await ns.until("pod", "s", (p) => p.metadata.labels.x === "1");
  expect(uid(after)).toBe(uid(before));
  expect(after.metadata.ownerReferences).toMatchObject([{ uid: uid(sandbox), controller: true }]);
});

test("a name that no Service can have: InvalidConfiguration, said once, and the Pod runs", async () => {
  const ns = await makeNamespace();
  const name = "s.s";
  await ns.apply(sleeper(name, { service: true }, ON_SIMULATED_NODES));
  const sandbox = await ns.untilReason(name, "InvalidConfiguration");
  expect(condition(sandbox, "Ready")).toMatchObject({ status: "False" });
  expect(condition(sandbox, "Ready").message).toContain("must not contain dots");
  await ns.until("pod", name, (p) => p?.status.phase === "Running");
  expect(await syncErrors(ns)).toBe(0);
});

test("a Pod spec that the API server refuses: InvalidConfiguration in its words, and a new spec helps", async () => {
  const ns = await makeNamespace();
  const containers = [{ name: "main", image: "" }];
  await ns.apply(sleeper("s", {}, { ...ON_SIMULATED_NODES, containers }));
  const sandbox = await ns.untilReason("s", "InvalidConfiguration");
  expect(condition(sandbox, "Ready").message).toContain("spec.containers[0].image: Required value");
  await ns.patch("sandbox", "s", {
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox:1.37" }] } } },
  });
  await ns.untilReason("s", "DependenciesReady");
  const cured = await ns.until("sandbox", "s", (s) => !s.metadata.annotations?.["agents.x-k8s.io/unresolved"]);
  expect(condition(cured, "Ready")).toMatchObject({ status: "True" });
});

test("a quota that forbids the Pod is named, and lifting it helps", async () => {
  const ns = await makeNamespace();
  await forbidPods(ns, "none");
  await ns.apply(sleeper("s", {}, ON_SIMULATED_NODES));
  const sandbox = await ns.untilReason("s", "ReconcilerError");
  expect(condition(sandbox, "Ready").message).toContain("exceeded quota: none");
  await ns.kubectl("delete", "resourcequota", "none");
  await ns.untilReason("s", "DependenciesReady");
});

test.for(
  [
    ["tolerations", { tolerations: [...ON_SIMULATED_NODES.tolerations, { key: "a", operator: "Exists" }] }],
    [
      "projected volumes",
      {
        volumes: [{
          name: "p",
          projected: {
            sources: [{ serviceAccountToken: { path: "t" } }, { configMap: { name: "c", optional: true } }],
          },
        }],
      },
    ],
    ["quantities", {
      containers: [{ name: "main", image: "busybox:1.37", resources: { requests: { cpu: "10m", memory: "0.01Gi" } } }],
    }],
    [
      "two ports of one number",
      {
        containers: [{
          name: "main",
          image: "busybox:1.37",
          ports: [{ containerPort: 53, protocol: "UDP" }, { containerPort: 53, protocol: "TCP" }],
        }],
      },
    ],
  ] as const,
)("labels reach a live Pod with %s, and nothing else changes", async ([, podSpec]) => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("s", { service: true }, { ...ON_SIMULATED_NODES, ...podSpec }));
  await ns.untilReason("s", "DependenciesReady");
  const before = await ns.get("pod", "s");
  await ns.patch("sandbox", "s", { spec: { podTemplate: { metadata: { labels: { x: "1" } } } } });
  const after = await ns.until("pod", "s", (p) => p.metadata.labels.x === "1");
  expect(uid(after)).toBe(uid(before));
  expect(after.spec).toEqual(before.spec);
  const service = await ns.get("service", "s");
  expect(service.spec.ports ?? []).toHaveLength(
    podSpec && "containers" in podSpec && "ports" in podSpec.containers[0] ? 2 : 0,
  );
});
