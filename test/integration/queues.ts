/** Tests of Pods with a queue of Kueue: what Kueue writes stays, and what hookbox writes gives the quota back. @module */
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { MAIN } from "../node/transcript/hookbox.ts";
import { GATE, MANAGED, PODSET, QUEUE_LABEL } from "./kueue.ts";
import { type Kubectl, run } from "./kubectl.ts";
import { condition, type Loose, makeNamespace, type Namespace, ON_SIMULATED_NODES } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilReady } from "./pools.ts";

export const KUEUE_API = "kueue.x-k8s.io/v1beta2";

/** A template of Pods that wait in the queue `agents`, and take half a CPU each. @param labels further ones */
export function aQueuedTemplate(name: string, labels: Record<string, string> = {}): Loose {
  const main = { name: "main", image: "busybox:1.37", resources: { requests: { cpu: "500m" } } };
  const template = aTemplate(name, {}, { ...ON_SIMULATED_NODES, containers: [main] });
  template.spec.podTemplate.metadata = { labels: { [QUEUE_LABEL]: "agents", ...labels } };
  return template;
}

/** A namespace whose queue `agents` has so much CPU, and a template `agents`. @param spec more of the ClusterQueue's */
export async function queued(cluster: Kubectl, cpu: string, spec: object = {}): Promise<Namespace> {
  const ns = await makeNamespace(cluster);
  const flavor = { name: "default", resources: [{ name: "cpu", nominalQuota: cpu }] };
  const nodeLabels = { "kubernetes.io/os": "linux" };
  const whole = [
    { apiVersion: KUEUE_API, kind: "ResourceFlavor", metadata: { name: flavor.name }, spec: { nodeLabels } },
    {
      apiVersion: KUEUE_API,
      kind: "ClusterQueue",
      metadata: { name: ns.name },
      // Otherwise, a new Pod may get free quota before one that waits.
      spec: {
        queueingStrategy: "StrictFIFO",
        namespaceSelector: {},
        resourceGroups: [{ coveredResources: ["cpu"], flavors: [flavor] }],
        ...spec,
      },
    },
  ];
  for (const each of whole) await run(cluster, ["apply", "--validate=strict", "-f", "-"], JSON.stringify(each));
  // Kueue keeps a queue as long as there are Pods of it.
  onTestFinished(async () => void await run(cluster, ["delete", "clusterqueue", ns.name, "--wait=false"]));
  await ns.apply(
    { apiVersion: KUEUE_API, kind: "LocalQueue", metadata: { name: "agents" }, spec: { clusterQueue: ns.name } },
    aQueuedTemplate("agents"),
  );
  return ns;
}

const isGated = ({ spec }: Loose) => (spec.schedulingGates ?? []).length > 0;
const isReady = (sandbox: Loose) => condition(sandbox, "Ready")?.status === "True";
const ready = async (ns: Namespace) => (await ns.list("sandboxes")).filter(isReady);

async function untilWaits(ns: Namespace, name: string): Promise<Loose> {
  return await ns.until("sandbox", name, (sandbox) => condition(sandbox, "PodScheduled")?.reason === "SchedulingGated");
}

async function why(ns: Namespace, what: string): Promise<string> {
  const args = [MAIN, "why", what, "-n", ns.name, "--kubeconfig", ns.cluster.kubeconfig];
  // Its exit code says whether something is wrong.
  return await promisify(execFile)(process.execPath, args).then(({ stdout }) => stdout, ({ stdout }) => stdout);
}

/** For use in `describe`, on a cluster where Kueue runs, or what stands for it. */
export function testQueues(cluster: () => Kubectl): void {
  test("a pool fills as far as the quota goes, says for what it waits, and a deleted claim gives its quota back", async () => {
    const ns = await queued(cluster(), "1");
    await ns.apply(aPool("agents", 3));
    await ns.until("sandboxwarmpool", "agents", ({ status }) => status?.readyReplicas === 2);
    const pool = await ns.until("sandboxwarmpool", "agents", (object) => {
      return condition(object, "Progressing")?.reason === "SchedulingGated";
    });
    expect(condition(pool, "Progressing").message).toContain("2 of 3 sandboxes are Ready");
    expect(await why(ns, "pool/agents")).toContain(`waits for quota in Kueue's queue "agents"`);

    await ns.apply(aClaim("job", "agents"));
    const { status: { sandbox: { name } } } = await untilReady(ns, "job");
    // Metacontroller has applied labels since Kueue wrote.
    const pod = await ns.until(
      "pod",
      name,
      ({ metadata }) => metadata.labels["agents.x-k8s.io/claim-uid"] !== undefined,
    );
    expect(pod).toMatchObject({
      metadata: {
        labels: { [MANAGED]: "true", [QUEUE_LABEL]: "agents", [PODSET]: "main" },
        finalizers: [MANAGED],
      },
      spec: { nodeSelector: { "kubernetes.io/os": "linux" } },
    });
    expect(isGated(pod)).toBe(false);
    const before = (await ready(ns)).length;
    await ns.kubectl("delete", "sandboxclaim", "job");
    await ns.until("pod", name, (object) => object === undefined);
    await ns.until("sandboxwarmpool", "agents", ({ status }) => status?.readyReplicas === before);
  });

  test("a suspended sandbox gives its quota back, waits when it resumes, and restarts after a preemption", async () => {
    const ns = await queued(cluster(), "500m");
    await ns.apply(aPool("agents", 0), aClaim("first", "agents"));
    const first = (await untilReady(ns, "first")).status.sandbox.name;
    await ns.apply(aClaim("second", "agents"));
    await untilWaits(ns, "second");

    await ns.patch("sandbox", first, { spec: { operatingMode: "Suspended" } });
    await untilReady(ns, "second");
    await ns.patch("sandbox", first, { spec: { operatingMode: "Running" } });
    await untilWaits(ns, first);
    expect(await why(ns, `sandbox/${first}`)).toContain(GATE);

    const { metadata: { uid } } = await ns.get("pod", "second");
    // Kueue preempts a Pod by deleting it. The one that has waited is admitted.
    await ns.kubectl("delete", "pod", "second", "--wait=false");
    await ns.untilReason(first, "DependenciesReady");
    const next = await ns.until("pod", "second", (pod) => pod !== undefined && pod.metadata.uid !== uid);
    expect(next.metadata).toMatchObject({ labels: { [MANAGED]: "true" }, finalizers: [MANAGED] });
    await untilWaits(ns, "second");
    await ns.patch("sandbox", first, { spec: { operatingMode: "Suspended" } });
    await untilReady(ns, "second");
  });
}
