/** Faults in what claims and pools refer to, and in what claims ask for. @module */
import { sleeper } from "../../integration/namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "../../integration/pools.ts";
import { aVolume, container, type Fault } from "./fault.ts";

/** A claim on an empty pool that works. */
const onPool = (name: string, spec: object): Fault["make"] => (ns) =>
  ns.apply(aTemplate(name), aPool(name, 0), aClaim(name, name, spec));

export const CLAIM_FAULTS: Fault[] = [
  {
    name: "a claim without a pool",
    subject: "claim/no-pool",
    code: "WarmPoolNotFound",
    culprit: "SandboxWarmPool/nowhere",
    make: (ns) => ns.apply(aClaim("no-pool", "nowhere")),
  },
  {
    name: "a claim whose pool has no template",
    subject: "claim/no-template",
    code: "TemplateNotFound",
    culprit: "SandboxTemplate/unwritten",
    make: (ns) => ns.apply(aPool("no-template", 1, "unwritten"), aClaim("no-template", "no-template")),
  },
  {
    name: "a pool without a template",
    subject: "pool/bare-pool",
    code: "TemplateNotFound",
    culprit: "SandboxTemplate/unwritten-too",
    make: (ns) => ns.apply(aPool("bare-pool", 2, "unwritten-too")),
  },
  {
    name: "variables that the template does not allow",
    subject: "claim/env",
    code: "EnvVarsInjectionRejected",
    culprit: "SandboxClaim/env",
    make: onPool("env", { env: [{ name: "A", value: "1" }] }),
  },
  {
    name: "volumes that the template does not allow",
    subject: "claim/volumes",
    code: "VolumeClaimTemplatesError",
    culprit: "SandboxClaim/volumes",
    make: onPool("volumes", { volumeClaimTemplates: [aVolume("data")] }),
  },
  {
    name: "labels that no claim may set",
    subject: "claim/metadata",
    code: "InvalidMetadata",
    culprit: "SandboxClaim/metadata",
    make: onPool("metadata", { additionalPodMetadata: { labels: { "kubernetes.io/x": "1" } } }),
  },
  {
    name: "a Sandbox of the claim's name that is somebody's",
    subject: "claim/name-taken",
    code: "SandboxNameTaken",
    culprit: "Sandbox/name-taken",
    make: async (ns) => {
      await ns.apply(sleeper("name-taken"));
      await onPool("name-taken", {})(ns, () => {});
    },
  },
  {
    name: "a claim whose cold start ends in a bad image name",
    subject: "claim/cold-image",
    code: "InvalidImageName",
    culprit: "Pod/cold-image",
    needs: "kubelet",
    make: (ns) =>
      ns.apply(
        aTemplate("cold-image", {}, container({ image: "BAD::NAME" })),
        aPool("cold-image", 0),
        aClaim("cold-image", "cold-image"),
      ),
  },
  {
    name: "a pool whose members lack a ConfigMap",
    subject: "pool/members",
    code: "ConfigMapNotFound",
    culprit: "ConfigMap/absent",
    needs: "kubelet",
    make: (ns) =>
      ns.apply(
        aTemplate("members", {}, container({ envFrom: [{ configMapRef: { name: "absent" } }] })),
        aPool("members", 2),
      ),
  },
  {
    name: "a claim that has expired",
    subject: "claim/late",
    code: "Expired",
    culprit: "SandboxClaim/late",
    make: onPool("late", { lifecycle: { shutdownTime: "2026-01-01T00:00:00Z" } }),
  },
  {
    name: "a claim that is served",
    subject: "claim/served",
    code: "Ready",
    culprit: "SandboxClaim/served",
    make: async (ns) => {
      await ns.apply(aTemplate("served"), aPool("served", 1), aClaim("served", "served"));
      await untilReady(ns, "served");
    },
  },
  {
    name: "a full pool",
    subject: "pool/full",
    code: "Ready",
    culprit: "SandboxWarmPool/full",
    make: async (ns) => {
      await ns.apply(aTemplate("full"), aPool("full", 1));
      await untilFull(ns, "full");
    },
  },
];
