/** A claim on a real API server: warm, cold, deleted, and its Pod's metadata. @module */
import { expect, test } from "vitest";
import { createAll } from "./bulk.ts";
import { followClaims } from "./history.ts";
import { until } from "./kubectl.ts";
import { condition, type Loose, makeNamespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "./pools.ts";
import { bareness } from "../watchedclaims.ts";
import "./suite.ts";

const KEY = (name: string) => `agents.x-k8s.io/${name}`;

test("a claim on a full pool gets a member: same Pod, new owner, everything in one status", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 2, "t"));
  await untilFull(ns, "p");
  const history = await followClaims(ns);
  const pods = new Map((await ns.list("pod")).map((pod) => [pod.metadata.name, pod]));
  await createAll(ns, [aClaim("c", "p", {}, { labels: { [KEY("created-by")]: "python-client" } })]);
  const claim = await untilReady(ns, "c");
  const { name, podIPs } = claim.status.sandbox;
  const before = pods.get(name);
  const pod = await ns.until("pod", name, ({ metadata }) => metadata.labels[KEY("claim-uid")] !== undefined);
  expect(podIPs).toEqual([pod.status.podIP]);
  expect([pod.metadata.uid, pod.status.startTime]).toEqual([before.metadata.uid, before.status.startTime]);
  expect(pod.metadata.labels).toMatchObject({ [KEY("created-by")]: "python-client" });
  expect(pod.metadata.labels).not.toHaveProperty([KEY("warm-pool-sandbox")]);

  const sandbox = await ns.get("sandbox", name);
  expect(sandbox.metadata.ownerReferences).toMatchObject([{ kind: "SandboxClaim", name: "c", controller: true }]);
  expect(sandbox.metadata.annotations).toMatchObject({ [KEY("pod-name")]: name, [KEY("sandbox-template-ref")]: "t" });
  expect(sandbox.metadata.labels).toMatchObject({
    [KEY("claim-uid")]: claim.metadata.uid,
    [KEY("launch-type")]: "warm",
  });
  const [seen, ready] = ["controller-first-observed-at", "claim-first-ready-at"].map((key) =>
    claim.metadata.annotations[KEY(key)]
  );
  expect([seen, ready]).toEqual([expect.stringMatching(/\.\d{3}Z$/), expect.stringMatching(/\.\d{3}Z$/)]);
  expect(Date.parse(seen)).toBeLessThanOrEqual(Date.parse(ready));
  const fields = ["get", "-o", "jsonpath={.metadata.managedFields}", "--show-managed-fields"];
  expect(await ns.kubectl(...fields, "sandboxclaim", "c")).toContain("manager");
  expect(await ns.kubectl(...fields, "sandbox", name), "given up by the binding, and never again kept").toBe("");
  await untilFull(ns, "p");
  const shown = history.versions.get("c")?.filter(({ status }) => status !== undefined) ?? [];
  expect(shown.map(({ status }) => [status.sandbox.name, condition({ status }, "Ready").status])).toEqual(
    shown.map(() => [name, "True"]),
  );
});

test("no version of a claim is Ready without its annotations: warm, cold, and given another Sandbox", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", { envVarsInjectionPolicy: "Allowed" }), aPool("p", 3, "t"));
  await untilFull(ns, "p");
  const history = await followClaims(ns);
  const names = ["a", "b", "c", "d", "e"];
  const env = [{ name: "WHO", value: "me" }];
  await createAll(ns, [...names.map((name) => aClaim(name, "p")), aClaim("cold", "p", { env })]);
  const claims = await Promise.all([...names, "cold"].map((name) => untilReady(ns, name)));
  // A warm one: a second cold start of a claim has the same name as the first.
  const warm = claims.find(({ metadata, status }) => status.sandbox.name !== metadata.name);
  const lost = warm.status.sandbox.name;
  await ns.kubectl("delete", "sandbox", lost);
  await ns.until("sandboxclaim", warm.metadata.name, (claim) => {
    const { name } = claim.status.sandbox ?? {};
    return name !== undefined && name !== lost && condition(claim, "Ready").status === "True";
  });
  expect([...history.versions.values()].flat().flatMap((claim) => bareness(claim as never) ?? [])).toEqual([]);
});

test("the binding leaves Pod and containers alone: tolerations, projected volumes, two ports of one number", async () => {
  const ns = await makeNamespace();
  const container = {
    name: "main",
    image: "busybox:1.37",
    command: ["sleep", "86400"],
    ports: [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP", name: "dns" }],
    volumeMounts: [{ name: "info", mountPath: "/info" }],
    resources: { requests: { cpu: "10m", memory: "1000Ki" } },
  };
  const labels = { path: "labels", fieldRef: { fieldPath: "metadata.labels" } };
  const sources = [{ downwardAPI: { items: [labels] } }, { serviceAccountToken: { path: "token" } }];
  await ns.apply(
    aTemplate("t", {}, {
      containers: [container],
      tolerations: [{ key: "example.com/any", operator: "Exists" }],
      volumes: [{ name: "info", projected: { sources } }],
    }),
    aPool("p", 1, "t"),
  );
  await untilFull(ns, "p");
  const [before] = await ns.list("pod");
  await ns.apply(aClaim("c", "p", { additionalPodMetadata: { labels: { "sandbox.users.io/team": "red" } } }));
  const claim = await untilReady(ns, "c");
  expect(claim.status.sandbox.name).toBe(before.metadata.name);
  const hasLabel = ({ metadata }: Loose) => metadata.labels["sandbox.users.io/team"] === "red";
  const pod = await ns.until("pod", before.metadata.name, hasLabel);
  expect(pod.metadata.uid).toBe(before.metadata.uid);
  expect(pod.spec).toEqual(before.spec);
  expect(pod.status.containerStatuses[0].state).toEqual(before.status.containerStatuses[0].state);
  const { spec } = (await ns.get("sandbox", before.metadata.name)).spec.podTemplate;
  expect(spec.containers[0].ports).toEqual(container.ports);
});

test("a claim with variables and volumes starts cold, named like the claim; deleting it removes everything", async () => {
  const ns = await makeNamespace();
  const volume = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
  };
  const policies = { envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed" };
  await ns.apply(aTemplate("t", policies), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("cold", "p", { env: [{ name: "WHO", value: "me" }], volumeClaimTemplates: [volume] }));
  const claim = await untilReady(ns, "cold");
  expect(claim.status.sandbox.name).toBe("cold");
  const pod = await ns.get("pod", "cold");
  expect(pod.spec.containers[0].env).toEqual([{ name: "WHO", value: "me" }]);
  expect(pod.metadata.labels[KEY("claim-uid")]).toBe(claim.metadata.uid);
  expect((await ns.get("sandbox", "cold")).metadata.labels[KEY("launch-type")]).toBe("cold");
  expect((await ns.get("pvc", "data-cold")).status.phase).toBe("Bound");
  expect((await ns.get("sandboxwarmpool", "p")).status).toMatchObject({ replicas: 1, readyReplicas: 1 });

  await ns.kubectl("delete", "sandboxclaim", "cold");
  for (const kind of ["sandbox", "pod"]) await ns.until(kind, "cold", (object) => object === undefined);
  await ns.until("pvc", "data-cold", (object) => object === undefined);
});

test("deleting pool and template leaves a bound Sandbox alone", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("c", "p"));
  const { sandbox } = (await untilReady(ns, "c")).status;
  await untilFull(ns, "p");
  const before = await ns.get("pod", sandbox.name);
  await ns.kubectl("delete", "sandboxwarmpool/p", "sandboxtemplate/t");
  await until(() => ns.list("sandbox"), (left) => left.length === 1);
  // A change of the claim brings the hooks back to it with pool and template gone.
  await ns.kubectl("annotate", "sandboxclaim", "c", "example.com/touched=yes");
  await ns.kubectl("annotate", "sandbox", sandbox.name, "example.com/touched=yes");
  await ns.apply(aTemplate("other"), aPool("other", 1, "other"));
  await untilFull(ns, "other");
  expect((await ns.get("pod", sandbox.name)).metadata.uid).toBe(before.metadata.uid);
  expect(condition(await ns.get("sandboxclaim", "c"), "Ready")).toMatchObject({ status: "True" });
});

test("a claim's Pod metadata is added, changed and removed on the live Pod", async () => {
  const ns = await makeNamespace();
  const metadata = { labels: { app: "agent" }, annotations: { "example.com/of": "template" } };
  await ns.apply(aTemplate("t", { podTemplate: { metadata } }), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const annotations = { "example.com/one": "1", "example.com/two": "2" };
  await ns.apply(aClaim("c", "p", { additionalPodMetadata: { annotations } }));
  const { name } = (await untilReady(ns, "c")).status.sandbox;
  const { metadata: { uid } } = await ns.until("pod", name, has("example.com/two", "2"));
  const patch = { "example.com/one": null, "example.com/two": "two", "example.com/three": "3" };
  await ns.patch("sandboxclaim", "c", { spec: { additionalPodMetadata: { annotations: patch } } });
  const pod = await ns.until("pod", name, has("example.com/three", "3"));
  expect(pod.metadata.uid).toBe(uid);
  expect(pod.metadata.annotations).toMatchObject({ "example.com/two": "two", "example.com/of": "template" });
  expect(pod.metadata.annotations).not.toHaveProperty(["example.com/one"]);
  expect(pod.metadata.annotations).not.toHaveProperty(["cluster-autoscaler.kubernetes.io/safe-to-evict"]);
  expect(pod.metadata.labels).toMatchObject({ app: "agent" });

  const conflict = { annotations: { "example.com/of": "claim" } };
  await ns.patch("sandboxclaim", "c", { spec: { additionalPodMetadata: conflict } });
  const refused = await untilReady(ns, "c", "ReconcilerError");
  expect(condition(refused, "Ready").message).toBe(
    'Error seen: metadata override conflict: annotation "example.com/of" is defined in template with value "template", ' +
      'but claim requests "claim"',
  );
  await ns.patch("sandboxclaim", "c", { spec: { additionalPodMetadata: null } });
  await untilReady(ns, "c");
  await ns.until("pod", name, ({ metadata }) => metadata.annotations["example.com/two"] === undefined);
});

function has(annotation: string, value: string): (pod: Loose) => boolean {
  return ({ metadata }) => metadata.annotations?.[annotation] === value;
}
