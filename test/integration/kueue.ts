/**
 * What Kueue does to Pods with a queue, for tests: an admission policy gates them as Kueue's webhook does, and a loop
 * admits those for which the queue has CPU, with the writes of Kueue's controller. @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { moduleFolder } from "../../dev/cluster/modules.ts";
import { requiredVersion } from "../../dev/cluster/programs.ts";
import { connect } from "../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { type Kubectl, run, until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";

export const QUEUE_LABEL = "kueue.x-k8s.io/queue-name";
/** A label with the value "true", and a finalizer. */
export const MANAGED = "kueue.x-k8s.io/managed";
/** A label of admitted Pods. */
export const PODSET = "kueue.x-k8s.io/podset";
export const GATE = "kueue.x-k8s.io/admission";
const API = "kueue.x-k8s.io/v1beta2";

/** Does to new Pods what Kueue's mutating webhook does. */
const POLICY = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingAdmissionPolicy",
  metadata: { name: "kueue" },
  spec: {
    reinvocationPolicy: "Never",
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      objectSelector: { matchExpressions: [{ key: QUEUE_LABEL, operator: "Exists" }] },
    },
    mutations: [{
      patchType: "ApplyConfiguration",
      applyConfiguration: {
        expression: `Object{
          metadata: Object.metadata{labels: {"${MANAGED}": "true"}, finalizers: ["${MANAGED}"]},
          spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: "${GATE}"}]}
        }`,
      },
    }],
  },
};

const PROBE = JSON.stringify({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "probe", namespace: "default", labels: { [QUEUE_LABEL]: "none" } },
  spec: { containers: [{ name: "main", image: "busybox:1.37" }] },
});

/** Returns the folder of Kueue's own files. */
export function kueueFolder(): Promise<string> {
  const goMod = readFileSync(new URL("../../dev/cluster/kueue/go.mod", import.meta.url), "utf8");
  const module = "sigs.k8s.io/kueue";
  return moduleFolder(`${module}@${requiredVersion(goMod, module)}`);
}

export async function applyKueueCRDs(cluster: Kubectl): Promise<void> {
  const folder = join(await kueueFolder(), "config/components/crd/bases");
  await run(cluster, ["apply", "--server-side", "-f", folder]);
  await run(cluster, ["wait", "--for=condition=Established", "crd", "--all", "--timeout=600s"]);
}

/**
 * Creates Kueue's CRDs, and starts the loop.
 *
 * @param atEnd takes note of what is to be done when the tests are over
 */
export async function startKueue(cluster: Kubectl, atEnd: (end: () => Promise<void>) => void): Promise<void> {
  await applyKueueCRDs(cluster);
  const binding = {
    ...POLICY,
    kind: "MutatingAdmissionPolicyBinding",
    spec: { policyName: POLICY.metadata.name },
  };
  for (const each of [POLICY, binding]) await run(cluster, ["apply", "-f", "-"], JSON.stringify(each));
  // The API server applies a policy some time after it was created.
  await until(
    () => run(cluster, ["create", "--dry-run=server", "-o", "json", "-f", "-"], PROBE),
    (made) => made.includes(GATE),
  );
  const stop = new AbortController();
  const { list, patch } = await openClient(cluster);
  const pods = () => list("/api/v1/pods", { labelSelector: `${MANAGED}=true` });
  const admitAll = async () => {
    while (!stop.signal.aborted) {
      const queues = ["localqueues", "clusterqueues"].map((plural) => list(`/apis/${API}/${plural}`));
      const [locals = [], clusters = []] = await Promise.all(queues);
      for (const { write, pod } of decide(await pods(), locals, clusters)) await patch(pod, write);
      await sleep(200);
    }
  };
  const looping = admitAll();
  atEnd(async () => {
    for (const { kind } of [binding, POLICY]) await run(cluster, ["delete", kind, POLICY.metadata.name]);
    stop.abort();
    await looping;
    // Otherwise their namespaces would stay.
    for (const pod of await pods()) await patch(pod, { metadata: { finalizers: withoutFinalizer(pod) } });
  });
}

async function openClient(cluster: Kubectl) {
  const { signal } = new AbortController();
  const api = connect(await kubeconfigCredentials(cluster.kubeconfig), { signal, userAgent: "kueue" });
  return {
    list: async (path: string, query: Record<string, string> = {}): Promise<Loose[]> =>
      ((await api.send({ method: "GET", path, query })).body as Loose).items ?? [],
    patch: ({ metadata }: Loose, body: object) =>
      api.send({ method: "PATCH", path: `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`, body }),
  };
}

const withoutFinalizer = ({ metadata }: Loose): string[] =>
  (metadata.finalizers ?? []).filter((each: string) => each !== MANAGED);

interface Write {
  pod: Loose;
  write: object;
}

/** Decides what to write: ended Pods lose the finalizer, waiting ones the gate if their queue has CPU for them. */
function decide(pods: Loose[], locals: Loose[], queues: Loose[]): Write[] {
  const ended = pods.filter(({ metadata, status }) =>
    metadata.deletionTimestamp !== undefined || ["Succeeded", "Failed"].includes(status.phase)
  );
  const writes: Write[] = ended.filter(({ metadata }) => metadata.finalizers?.includes(MANAGED)).map((pod) => {
    return { pod, write: { metadata: { finalizers: withoutFinalizer(pod) } } };
  });
  const left = new Map(queues.map((queue) => [queue.metadata.name, quotaOf(queue)]));
  const queueOf = ({ metadata }: Loose) =>
    locals.find((local) =>
      local.metadata.namespace === metadata.namespace && local.metadata.name === metadata.labels[QUEUE_LABEL]
    )?.spec.clusterQueue;
  const take = (pod: Loose) => {
    const queue = queueOf(pod);
    const rest = (left.get(queue) ?? 0) - requestOf(pod);
    if (rest < 0) return false;
    left.set(queue, rest);
    return true;
  };
  const live = pods.filter((pod) => !ended.includes(pod));
  const isGated = ({ spec }: Loose) => (spec.schedulingGates ?? []).some(({ name }: Loose) => name === GATE);
  for (const pod of live.filter((each) => !isGated(each))) take(pod);
  for (const pod of live.filter(isGated)) {
    if (!take(pod)) continue;
    const schedulingGates = pod.spec.schedulingGates.filter(({ name }: Loose) => name !== GATE);
    // As the ResourceFlavor has it, in Kueue.
    const nodeSelector = { ...pod.spec.nodeSelector, "kubernetes.io/os": "linux" };
    writes.push({
      pod,
      write: { metadata: { labels: { [PODSET]: "main" } }, spec: { schedulingGates, nodeSelector } },
    });
  }
  return writes;
}

/** CPU of a ClusterQueue, in thousandths. */
function quotaOf({ spec }: Loose): number {
  const resources = spec.resourceGroups.flatMap(({ flavors }: Loose) => flavors).flatMap(({ resources }: Loose) =>
    resources
  );
  return milli(resources.find(({ name }: Loose) => name === "cpu")?.nominalQuota);
}

function requestOf({ spec }: Loose): number {
  return spec.containers.reduce((sum: number, { resources }: Loose) => sum + milli(resources?.requests?.cpu), 0);
}

function milli(quantity: string | number = 0): number {
  const text = String(quantity);
  return text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1000;
}
