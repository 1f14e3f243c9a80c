/** A pool on a real API server: size, template changes, and what it says when it cannot fill. @module */
import { expect, test } from "vitest";
import { until } from "./kubectl.ts";
import { condition, forbidPods, type Loose, makeNamespace, type Namespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "./pools.ts";
import { hasRealNode } from "./suite.ts";

test("a pool is filled, scaled up and down by kubectl scale, and emptied with its members when deleted", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 2, "t"));
  const pool = await untilFull(ns, "p");
  expect(pool.status.selector).toMatch(/^agents\.x-k8s\.io\/warm-pool-sandbox=[0-9a-f]{8}$/);
  expect(condition(pool, "Ready")).toMatchObject({ status: "True", message: "2 of 2 sandboxes are Ready" });
  const first = await members(ns);
  await ns.kubectl("scale", "sandboxwarmpool", "p", "--replicas=4");
  await untilFull(ns, "p");
  expect((await members(ns)).slice(0, 2)).toEqual(first);
  await ns.kubectl("scale", "sandboxwarmpool", "p", "--replicas=1");
  await untilFull(ns, "p");
  await until(() => members(ns), (names) => names.length === 1);
  await ns.kubectl("delete", "sandboxwarmpool", "p");
  await until(() => ns.list("sandbox"), (left) => left.length === 0);
  await until(() => ns.list("pod"), (left) => left.length === 0);
});

test("members have the template's Pod with secure defaults, and carry pod-name from birth", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", { service: true }, { automountServiceAccountToken: undefined }), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const [sandbox] = await ns.list("sandbox");
  const { name } = sandbox.metadata;
  expect(name).toMatch(/^p-[0-9a-z]{13}$/);
  expect(sandbox.metadata.annotations["agents.x-k8s.io/pod-name"]).toBe(name);
  const pod = await ns.get("pod", name);
  expect(pod.spec).toMatchObject({ automountServiceAccountToken: false, dnsPolicy: "None" });
  expect(pod.spec.dnsConfig.nameservers).toEqual(["8.8.8.8", "1.1.1.1"]);
  expect(pod.metadata.annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"]).toBe("true");
  expect(pod.metadata.labels).toMatchObject({
    "agents.x-k8s.io/warm-pool-sandbox": sandbox.metadata.labels["agents.x-k8s.io/warm-pool-sandbox"],
    "agents.x-k8s.io/created-by": "controller",
  });
  expect((await ns.get("service", name)).spec.clusterIP).toBe("None");
});

test("OnReplenish hands out old members and makes new ones anew; Recreate replaces them", async () => {
  const ns = await makeNamespace();
  const change = (value: string) => [{ op: "add", path: "/spec/podTemplate/spec/hostname", value }];
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const [old] = await members(ns);
  await ns.kubectl("patch", "sandboxtemplate", "t", "--type=json", "-p", JSON.stringify(change("second")));
  await ns.apply(aClaim("c", "p"));
  expect((await untilReady(ns, "c")).status.sandbox.name).toBe(old);
  await untilFull(ns, "p");
  const [second = ""] = await members(ns);
  expect((await ns.get("sandbox", second)).spec.podTemplate.spec.hostname).toBe("second");

  await ns.patch("sandboxwarmpool", "p", { spec: { updateStrategy: { type: "Recreate" } } });
  await ns.kubectl("label", "sandboxtemplate", "t", "example.com/metadata=only");
  await ns.kubectl("patch", "sandboxtemplate", "t", "--type=json", "-p", JSON.stringify(change("third")));
  const [third] = await until(() => members(ns), (names) => names.length === 1 && !names.includes(second));
  expect((await ns.get("sandbox", third ?? "")).spec.podTemplate.spec.hostname).toBe("third");
  await untilFull(ns, "p");
  expect(condition(await ns.get("sandboxclaim", "c"), "Ready").status).toBe("True");
});

interface Trouble {
  reason: string;
  status: string;
  message: RegExp;
  objects: Loose[];
  prepare?(ns: Namespace): Promise<void>;
  /** Simulated nodes pull nothing. */
  needsRealNode?: true;
}

const TROUBLES: Trouble[] = [
  {
    reason: "TemplateNotFound",
    status: "False",
    message: /^SandboxTemplate "t" not found$/,
    objects: [],
  },
  {
    reason: "QuotaExceeded",
    status: "False",
    message: /exceeded quota: q/,
    objects: [aTemplate("t")],
    prepare: (ns) => forbidPods(ns, "q"),
  },
  {
    reason: "Unschedulable",
    status: "True",
    message: /node/,
    objects: [aTemplate("t", {}, { nodeSelector: { "example.com/no": "where" } })],
  },
  {
    reason: "SchedulingGated",
    status: "True",
    message: /gate/,
    objects: [aTemplate("t", {}, { schedulingGates: [{ name: "example.com/wait" }] })],
  },
  {
    reason: "ImagePullFailed",
    status: "False",
    message: /"main".*/,
    objects: [
      // A registry that refuses at once: a name that nobody knows is looked up for most of a minute.
      aTemplate("t", {}, { containers: [{ name: "main", image: "127.0.0.1:1/no/such:1" }] }),
    ],
    needsRealNode: true,
  },
];

test.for(TROUBLES)("a pool that cannot fill says why: $reason", async (trouble, { skip }) => {
  const { reason, status, message, objects, needsRealNode = false } = trouble;
  skip(needsRealNode && !hasRealNode);
  const ns = await makeNamespace();
  await trouble.prepare?.(ns);
  await ns.apply(...objects, aPool("p", 1, "t"));
  const pool = await ns.until("sandboxwarmpool", "p", (object) => condition(object, "Progressing")?.reason === reason);
  expect(condition(pool, "Progressing")).toMatchObject({ status, message: expect.stringMatching(message) });
  expect(condition(pool, "Ready")).toMatchObject({ status: "False", reason: "NotFull" });
});

test("a pool whose template appears fills; scaled to 0 while claims arrive, no bound Sandbox dies", async () => {
  const ns = await makeNamespace();
  await ns.apply(aPool("p", 5, "t"));
  await ns.until("sandboxwarmpool", "p", (pool) => condition(pool, "Progressing")?.reason === "TemplateNotFound");
  await ns.apply(aTemplate("t"));
  await untilFull(ns, "p");
  await Promise.all([
    ns.apply(...["a", "b", "c", "d"].map((name) => aClaim(name, "p"))),
    ns.patch("sandboxwarmpool", "p", { spec: { replicas: 0 } }),
  ]);
  const names = await Promise.all(["a", "b", "c", "d"].map(async (name) => {
    const claim = await untilReady(ns, name);
    return claim.status.sandbox.name;
  }));
  await until(() => members(ns), (left) => left.length === 0);
  const sandboxes = await ns.list("sandbox");
  expect(sandboxes.map(({ metadata }) => metadata.name).sort()).toEqual(names.sort());
});

/** Names of the Sandboxes that the pool owns, oldest first. */
async function members(ns: Namespace): Promise<string[]> {
  const all = await ns.list("sandbox");
  return all.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === "SandboxWarmPool")
    .map(({ metadata }) => metadata.name).sort();
}
