/** Bad deploys that change existing children, and fields of them that other components read. @module */
import {
  CLAIM_UID_LABEL,
  LOSSES_ALLOWED_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  WARM_POOL_LABEL,
} from "../../packages/api/objects/keys.ts";
import {
  annotated,
  changed,
  copies,
  type Fault,
  labelled,
  saying,
  spoilt,
  type Wish,
  withMetadata,
  withSpec,
} from "./faulty.ts";

const ROUTER = "router.agents.x-k8s.io";
const EVIL = { spec: { containers: [{ name: "main", image: "another:1" }] } };
const OTHER = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "other", controller: true };

/** They, by what they do. */
export const BAD_CHANGES: Record<string, () => Fault> = {
  "changes what Sandboxes make their Pods from": () =>
    spoilt("Sandbox", (child) => withSpec(child, { podTemplate: EVIL })),
  "takes the Services from Sandboxes": () => spoilt("Sandbox", (child) => withSpec(child, { service: false })),
  "takes the volumes from Sandboxes": () => spoilt("Sandbox", (child) => withSpec(child, { volumeClaimTemplates: [] })),
  "marks Sandboxes as idle": () =>
    spoilt(
      "Sandbox",
      (child) => annotated(child, { [`${ROUTER}/idle-seconds`]: "1", [`${ROUTER}/idle-delete-seconds`]: "1" }),
    ),
  "allows losses of Sandboxes": () =>
    spoilt("Sandbox", (child) => annotated(child, { [LOSSES_ALLOWED_ANNOTATION]: "2099-01-01T00:00:00Z" })),
  "labels Sandboxes as a pool's": () => spoilt("Sandbox", (child) => labelled(child, { [WARM_POOL_LABEL]: "x" })),
  "labels Sandboxes as another claim's": () =>
    spoilt("Sandbox", (child) => labelled(child, { [CLAIM_UID_LABEL]: "x" })),
  "gives Sandboxes to another owner": () =>
    spoilt("Sandbox", (child) => withMetadata(child, { ownerReferences: [OTHER] })),
  "takes Sandboxes' modes over": () => spoilt("Sandbox", (child) => withSpec(child, { operatingMode: "Running" })),
  "opens the NetworkPolicies": () =>
    spoilt("NetworkPolicy", (child) => withSpec(child, { ingress: [{}], egress: [{}] })),
  "has NetworkPolicies select nothing": () =>
    spoilt("NetworkPolicy", (child) => withSpec(child, { podSelector: { matchLabels: { a: "b" } } })),
  "has NetworkPolicies leave egress alone": () =>
    spoilt("NetworkPolicy", (child) => withSpec(child, { policyTypes: ["Ingress"] })),
  "takes the label off Pods that NetworkPolicies select by": () =>
    spoilt("Pod", ({ metadata, ...child }) => {
      const { [TEMPLATE_REF_HASH_LABEL]: _, ...labels } = metadata.labels ?? {};
      return { ...child, metadata: { ...metadata, labels } };
    }),
  "labels Pods as the router": () => spoilt("Pod", (child) => labelled(child, { app: "sandbox-router" })),
  "annotates Pods for a network of their own": () =>
    spoilt("Pod", (child) => annotated(child, { "k8s.v1.cni.cncf.io/networks": "kube-system/host" })),
  "puts finalizers on children": () => (wish) =>
    changed(wish, (child) => withMetadata(child, { finalizers: ["example.com/never"] })),
  "makes Services load balancers": () => spoilt("Service", (child) => withSpec(child, { type: "LoadBalancer" })),
  "gives Services external addresses": () =>
    spoilt("Service", (child) => withSpec(child, { externalIPs: ["203.0.113.1"] })),
  "makes Services names of others": () =>
    spoilt("Service", (child) => withSpec(child, { type: "ExternalName", externalName: "example.com" })),
  "moves the ports of Services": () =>
    spoilt("Service", (child) => withSpec(child, { ports: [{ name: "x", port: 1, protocol: "TCP", targetPort: 22 }] })),
  "publishes Services of Pods that are not Ready": () =>
    spoilt("Service", (child) => withSpec(child, { publishNotReadyAddresses: true })),
  "asks for six children in the place of one": () => (wish) => ({ ...wish, children: wish.children.flatMap(copies) }),
  "says that nothing is Ready": () => (wish, { hook, now }) =>
    hook === "sandbox" ? saying(wish, { type: "Ready", status: "False", reason: "DependenciesNotReady" }, now) : wish,
  "says that nothing is known": () => (wish, { hook, now }) =>
    hook === "sandbox" ? saying(wish, { type: "Ready", status: "Unknown", reason: "Any" }, now) : wish,
  "says that no spec is valid": () => (wish, { hook, now }) =>
    hook === "sandbox" ? saying(wish, { type: "Ready", status: "False", reason: "InvalidConfiguration" }, now) : wish,
  "says that claims have no Sandbox": () => (wish, { hook, now }) =>
    hook === "sandboxclaim" ? saying(wish, { type: "Ready", status: "False", reason: "SandboxMissing" }, now) : wish,
  "says nothing any more": () => (wish, { hook }) => hook === "sandbox" ? { ...wish, status: {} } : wish,
  "names one Sandbox in all claims": () => (wish, { hook }) =>
    hook === "sandboxclaim" ? { ...wish, status: { ...wish.status, sandbox: { name: "own-0" } } } as Wish : wish,
  "sends clients to another address": () => (wish, { hook }) =>
    hook === "sandbox" ? { ...wish, status: { ...wish.status, podIPs: ["10.9.9.9"] } } as Wish : wish,
  "sends clients to another name": () => (wish, { hook }) =>
    hook === "sandbox" ? { ...wish, status: { ...wish.status, serviceFQDN: "demo.example.com" } } as Wish : wish,
  "says that pools have no members": () => (wish, { hook }) =>
    hook === "sandboxwarmpool" ? { ...wish, status: { ...wish.status, replicas: 0 } } as Wish : wish,
  "runs pools out of numbers": () => (wish, { hook }) =>
    hook === "sandboxwarmpool" ? { ...wish, status: { ...wish.status, sequence: 2 ** 52 } } as Wish : wish,
  "begins the numbers of members anew": () => (wish, { hook }) =>
    hook === "sandboxwarmpool" ? { ...wish, status: { ...wish.status, sequence: 1 } } as Wish : wish,
};
