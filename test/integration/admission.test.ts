/** The admission policies of router and keeper on a real API server: what their accounts may do, and what no more. @module */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { attempt, run, until } from "./kubectl.ts";
import { type Loose, makeNamespace, type Namespace, ON_SIMULATED_NODES, sleeper } from "./namespace.ts";
import { aPool } from "./pools.ts";
import { type BareCluster, shared } from "./shared.ts";

const id = `admission-${randomBytes(3).toString("hex")}`;
let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

/** Puts the policy of a process into force for an account of this test, which might do everything without it. */
async function aProcess(name: "router" | "keeper"): Promise<{ ns: Namespace; as: string[] }> {
  const ns = await makeNamespace(cluster);
  const user = `system:serviceaccount:${ns.name}:${name}`;
  const policy = `${id}-${name}`;
  const file = new URL(`../../deploy/${name}/admission.yaml`, import.meta.url);
  const text = readFileSync(file, "utf8").replace(/system:serviceaccount:[a-z-]+:hookbox-[a-z]+/, user)
    .replaceAll(`hookbox-${name}`, policy);
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

const aSandbox = (name: string) => sleeper(name, { volumeClaimTemplates: [] }, ON_SIMULATED_NODES);

const key = "router.agents.x-k8s.io/active-at";
const ROUTER: [what: string, patch: Loose, may: boolean][] = [
  ["switches a Sandbox off", { spec: { operatingMode: "Suspended" } }, true],
  [
    "switches it on, and leaves word",
    { spec: { operatingMode: "Running" }, metadata: { annotations: { [key]: "x" } } },
    true,
  ],
  ["takes its own word back", { metadata: { annotations: { [key]: null } } }, true],
  ["lets it expire", { spec: { shutdownTime: "2030-01-01T00:00:00Z", shutdownPolicy: "Delete" } }, true],
  ["asks for a Service", { spec: { service: true } }, false],
  ["changes the image", { spec: { podTemplate: { spec: { containers: [{ name: "main", image: "evil" }] } } } }, false],
  ["annotates otherwise", { metadata: { annotations: { "agents.x-k8s.io/unresolved": "x" } } }, false],
  ["changes another's annotation", { metadata: { annotations: { mine: "2" } } }, false],
  ["takes another's annotation", { metadata: { annotations: { mine: null } } }, false],
  ["labels", { metadata: { labels: { a: "b" } } }, false],
  ["sets a finalizer", { metadata: { finalizers: ["example.com/stay"] } }, false],
];

test("the router switches Sandboxes on and off, and does nothing else to them", async () => {
  const { ns, as } = await aProcess("router");
  await ns.apply({ ...aSandbox("box"), metadata: { name: "box", annotations: { mine: "1" } } });
  for (const [what, patch, may] of ROUTER) {
    const body = JSON.stringify(patch);
    const { code, stderr } = await attempt(cluster, [...as, "patch", "sandbox", "box", "--type=merge", "-p", body]);
    expect([what, code === 0, stderr]).toEqual([what, may, may ? "" : expect.stringContaining("The router may ")]);
  }
});

test("the keeper tries out what could be created, annotates, sets the label for adoption, and does nothing else", async () => {
  const { ns, as } = await aProcess("keeper");
  const pod = JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "main", image: "busybox" }] },
  });
  const create = (...more: string[]) => attempt(cluster, [...as, "create", "-f", "-", ...more], pod);
  expect((await create("--dry-run=server")).code).toBe(0);
  expect(await create()).toMatchObject({ stderr: expect.stringContaining("The keeper may only try out") });
  expect(await ns.get("pod", "p")).toBeUndefined();
  await ns.apply(aPool("p", 0, "none"));
  const patch = (object: string[], body: object) =>
    attempt(cluster, [...as, "patch", ...object, "--type=merge", "-p", JSON.stringify(body)]);
  await ns.apply(JSON.parse(pod), {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s", labels: { app: "web", mine: "1" } },
    spec: { ports: [{ port: 80 }] },
  });
  for (const object of [["pod", "p"], ["service", "s"]]) {
    const offered = { metadata: { labels: { "controller-uid": "u-1" }, annotations: { a: "b" } } };
    expect((await patch(object, offered)).code, object[0]).toBe(0);
    expect((await patch(object, { metadata: { labels: { "controller-uid": null } } })).code, object[0]).toBe(0);
  }
  for (const labels of [{ a: "b" }, { app: "sandbox-router" }, { mine: null }]) {
    const { stderr } = await patch(["service", "s"], { metadata: { labels } });
    expect(stderr, JSON.stringify(labels)).toContain("The keeper may change the label controller-uid, and no others");
  }
  for (const object of [["sandbox", "first"], ["sandboxwarmpool", "p"]]) {
    const change = { metadata: { labels: { "controller-uid": "u-1" }, annotations: { a: "b" } } };
    expect((await patch(object, change)).code).toBe(0);
    const spec = object[1] === "first" ? { operatingMode: "Suspended" } : { replicas: 100 };
    for (const body of [{ spec }, { metadata: { finalizers: ["example.com/stay"] } }]) {
      const refused = { stderr: expect.stringContaining("The keeper may change labels") };
      expect(await patch(object, body), object[0]).toMatchObject(refused);
    }
  }
});
