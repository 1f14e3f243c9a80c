/** Faults of Sandboxes whose Pod or volume the API server refuses, or whose name is taken. @module */
import { until } from "../../integration/kubectl.ts";
import { type Namespace, sleeper } from "../../integration/namespace.ts";
import { aClaim, aPool, aTemplate } from "../../integration/pools.ts";
import { aVolume, container, type Fault, podFault } from "./fault.ts";

async function makeQuota(ns: Namespace, hard: Record<string, string>): Promise<void> {
  await ns.apply({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "small" }, spec: { hard } });
  await ns.until("resourcequota", "small", (quota) => quota?.status?.hard !== undefined);
}

/** Makes a policy that forbids Pods in one namespace, and waits until it is in force. */
async function makePolicy(ns: Namespace, atEnd: (end: () => Promise<void>) => void): Promise<void> {
  const name = `no-pods-${ns.name}`;
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns.name } };
  const api = "admissionregistration.k8s.io/v1";
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
  await ns.apply(
    {
      apiVersion: api,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: [rule], namespaceSelector },
        validations: [{ expression: "false", message: "Pods are not wanted here" }],
      },
    },
    {
      apiVersion: api,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    },
  );
  atEnd(async () => {
    await ns.attempt("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", name);
  });
  const probe = () => ns.attempt("run", "probe", "--image=busybox:1.37", "--dry-run=server");
  await until(probe, ({ stderr }) => stderr.includes("not wanted"));
}

export const REFUSALS: Fault[] = [
  {
    name: "a quota without room for the Pod of a claim",
    subject: "claim/over-quota",
    code: "QuotaExceeded",
    culprit: "ResourceQuota/small",
    isAlone: true,
    make: async (ns) => {
      await makeQuota(ns, { pods: "0" });
      await ns.apply(aTemplate("over-quota"), aPool("over-quota", 0), aClaim("over-quota", "over-quota"));
    },
  },
  {
    name: "a quota without room for a pool",
    subject: "pool/over-quota",
    code: "QuotaExceeded",
    culprit: "ResourceQuota/small",
    isAlone: true,
    make: async (ns) => {
      await makeQuota(ns, { pods: "0" });
      await ns.apply(aTemplate("over-quota"), aPool("over-quota", 1));
    },
  },
  {
    name: "a quota that counts Sandboxes",
    subject: "claim/no-sandboxes",
    code: "QuotaExceeded",
    culprit: "ResourceQuota/small",
    isAlone: true,
    make: async (ns) => {
      await makeQuota(ns, { "count/sandboxes.agents.x-k8s.io": "0" });
      await ns.apply(aTemplate("no-sandboxes"), aPool("no-sandboxes", 0), aClaim("no-sandboxes", "no-sandboxes"));
    },
  },
  {
    name: "a quota that wants limits",
    subject: "sandbox/limitless",
    code: "QuotaNeedsResources",
    culprit: "ResourceQuota/small",
    isAlone: true,
    make: async (ns) => {
      await makeQuota(ns, { "limits.cpu": "1" });
      await ns.apply(sleeper("limitless"));
    },
  },
  {
    name: "a namespace of Pod Security level restricted",
    subject: "sandbox/insecure",
    code: "PodSecurityViolation",
    culprit: "Namespace/@",
    isAlone: true,
    make: async (ns) => {
      await ns.kubectl("label", "namespace", ns.name, "pod-security.kubernetes.io/enforce=restricted");
      await ns.apply(sleeper("insecure"));
    },
  },
  {
    name: "a LimitRange",
    subject: "sandbox/big",
    code: "LimitRangeViolation",
    culprit: "Sandbox/big",
    isAlone: true,
    make: async (ns) => {
      const limits = [{ type: "Container", max: { cpu: "100m" } }];
      await ns.apply({ apiVersion: "v1", kind: "LimitRange", metadata: { name: "most" }, spec: { limits } });
      await ns.apply(sleeper("big", {}, container({ resources: { limits: { cpu: "1" } } })));
    },
  },
  {
    name: "a ValidatingAdmissionPolicy",
    subject: "sandbox/denied",
    code: "AdmissionPolicyDenied",
    culprit: "ValidatingAdmissionPolicy/no-pods-@",
    isAlone: true,
    make: async (ns, atEnd) => {
      await makePolicy(ns, atEnd);
      await ns.apply(sleeper("denied"));
    },
  },
  podFault("no-runtimeclass", "RuntimeClassNotFound", "RuntimeClass/gone", { runtimeClassName: "gone" }),
  podFault("no-account", "ServiceAccountNotFound", "ServiceAccount/nobody", { serviceAccountName: "nobody" }),
  podFault("no-priority", "PriorityClassNotFound", "PriorityClass/urgent", { priorityClassName: "urgent" }),
  podFault("no-image", "InvalidConfiguration", "Sandbox/no-image", container({ image: "" })),
  {
    name: "a Pod of the Sandbox's name that is somebody's",
    subject: "sandbox/pod-taken",
    code: "NameTaken",
    culprit: "Pod/pod-taken",
    make: async (ns) => {
      const { podTemplate: { spec } } = sleeper("pod-taken").spec;
      await ns.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "pod-taken" }, spec });
      await ns.apply(sleeper("pod-taken"));
    },
  },
  {
    name: "a volume of the Sandbox's name that is somebody's",
    subject: "sandbox/volume-taken",
    code: "NameTaken",
    culprit: "PersistentVolumeClaim/data-volume-taken",
    make: async (ns) => {
      const { spec } = aVolume("data");
      const name = "data-volume-taken";
      await ns.apply({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name }, spec });
      await ns.apply(sleeper("volume-taken", { volumeClaimTemplates: [aVolume("data")] }));
    },
  },
];
