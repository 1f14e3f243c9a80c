/** Bad deploys that create wrong children, but leave existing ones alone. @module */
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import { annotated, changed, copies, type Fault, labelled, withContainers, withMetadata, withSpec } from "./faulty.ts";

/** What is wrong with new children of one kind. */
export interface BadMaker {
  kind: "Pod" | "Service" | "PersistentVolumeClaim" | "Sandbox";
  fault: Fault;
}

const maker = (kind: BadMaker["kind"], change: (child: DesiredObject) => DesiredObject): BadMaker => ({
  kind,
  fault: (wish) => changed(wish, (child) => child.kind === kind ? change(child) : child),
});
const specOf = ({ spec }: DesiredObject) => spec as Record<string, never>;
const podOf = (sandbox: DesiredObject, change: (pod: object) => object) => {
  const { podTemplate } = specOf(sandbox) as unknown as { podTemplate: { spec: object } };
  return withSpec(sandbox, { podTemplate: { ...podTemplate, spec: change(podTemplate.spec) } });
};
const privileged = { securityContext: { privileged: true } };

/** They, by what they make. */
export const BAD_MAKERS: Record<string, BadMaker> = {
  "Pods with an empty volume in place of theirs": maker(
    "Pod",
    (pod) => withSpec(pod, { volumes: [{ name: "home", emptyDir: {} }] }),
  ),
  "Pods with a volume of the node": maker(
    "Pod",
    (pod) => withSpec(pod, { volumes: [...specOf(pod)["volumes"] ?? [], { name: "host", hostPath: { path: "/" } }] }),
  ),
  "privileged Pods": maker("Pod", (pod) => withContainers(pod, privileged)),
  "Pods of another image": maker("Pod", (pod) => withContainers(pod, { image: "another:1" })),
  "Pods in the node's network": maker("Pod", (pod) => withSpec(pod, { hostNetwork: true })),
  "Pods of another account": maker("Pod", (pod) => withSpec(pod, { serviceAccountName: "admin" })),
  "Pods with a token": maker("Pod", (pod) => withSpec(pod, { automountServiceAccountToken: true })),
  "Pods of another runtime class": maker("Pod", (pod) => withSpec(pod, { runtimeClassName: "runc" })),
  "Pods that any node takes": maker("Pod", (pod) => withSpec(pod, { tolerations: [{ operator: "Exists" }] })),
  "Pods on a node": maker("Pod", (pod) => withSpec(pod, { nodeName: "node-1" })),
  "Pods with one more container": maker(
    "Pod",
    (pod) => withSpec(pod, { initContainers: [{ name: "more", image: "another:1" }] }),
  ),
  "Pods with an ephemeral container": maker(
    "Pod",
    (pod) => withSpec(pod, { ephemeralContainers: [{ name: "more", image: "another:1" }] }),
  ),
  "Pods that nothing selects": maker(
    "Pod",
    ({ metadata: { labels: _, ...metadata }, ...pod }) => ({ ...pod, metadata }),
  ),
  "Pods that are the router's": maker("Pod", (pod) => labelled(pod, { app: "sandbox-router" })),
  "Pods with annotations of their own": maker("Pod", (pod) => annotated(pod, { "sidecar.istio.io/inject": "false" })),
  "Pods that never go": maker("Pod", (pod) => withMetadata(pod, { finalizers: ["example.com/never"] })),
  "Pods of another owner": maker(
    "Pod",
    (pod) =>
      withMetadata(pod, { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "other" }] }),
  ),
  "six Pods each": { kind: "Pod", fault: (wish) => ({ ...wish, children: wish.children.flatMap(copies) }) },
  "Services of a load balancer": maker("Service", (service) => withSpec(service, { type: "LoadBalancer" })),
  "Services of other Pods": maker("Service", (service) => withSpec(service, { selector: { app: "x" } })),
  "volumes of another size": maker(
    "PersistentVolumeClaim",
    (volume) => withSpec(volume, { resources: { requests: { storage: "1Ti" } } }),
  ),
  "volumes of another class": maker(
    "PersistentVolumeClaim",
    (volume) => withSpec(volume, { storageClassName: "another" }),
  ),
  "volumes with another's data": maker(
    "PersistentVolumeClaim",
    (volume) => withSpec(volume, { dataSource: { kind: "PersistentVolumeClaim", name: "home-own-0" } }),
  ),
  "members with another image": maker(
    "Sandbox",
    (sandbox) => podOf(sandbox, () => ({ containers: [{ name: "main", image: "another:1" }] })),
  ),
  "members with a token": maker(
    "Sandbox",
    (sandbox) => podOf(sandbox, (pod) => ({ ...pod, automountServiceAccountToken: true })),
  ),
  "members that no NetworkPolicy selects": maker(
    "Sandbox",
    (sandbox) => labelled(sandbox, { "agents.x-k8s.io/sandbox-template-ref-hash": "x" }),
  ),
  "members that end": maker("Sandbox", (sandbox) => withSpec(sandbox, { shutdownTime: "2027-01-01T00:00:00Z" })),
  "members of another pool": maker(
    "Sandbox",
    (sandbox) => labelled(sandbox, { "agents.x-k8s.io/warm-pool-sandbox": "x" }),
  ),
  "members under names of its own": maker(
    "Sandbox",
    (sandbox) => withMetadata(sandbox, { name: `${sandbox.metadata.name}-x` }),
  ),
  "six members in the place of one": {
    kind: "Sandbox",
    fault: (wish) => ({ ...wish, children: wish.children.flatMap(copies) }),
  },
};
