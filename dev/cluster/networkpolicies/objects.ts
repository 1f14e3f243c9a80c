/** Schemas of those fields of Pods, Namespaces and NetworkPolicies that a ruleset needs. @module */
import * as z from "zod";
import { objectMetaSchema } from "../../../packages/api/objects/objects.ts";
import type { Observed, Policy } from "./ruleset.ts";

const metadata = objectMetaSchema.extend({ namespace: z.string().default("") });
const port = z.looseObject({ name: z.string().optional(), containerPort: z.number(), protocol: z.string().optional() });

/** A Pod with its ports. */
export const podSchema = z.looseObject({
  metadata,
  spec: z.looseObject({
    hostNetwork: z.boolean().default(false),
    containers: z.array(z.looseObject({ ports: z.array(port).default([]) })).default([]),
  }),
  status: z.looseObject({
    phase: z.string().optional(),
    podIPs: z.array(z.object({ ip: z.string() })).default([]),
  }).default({ podIPs: [] }),
});

/** A Namespace with its labels. */
export const namespaceSchema = z.looseObject({ metadata: objectMetaSchema });

/** A NetworkPolicy. The API server has checked its rules. */
export const policySchema = z.looseObject({
  metadata,
  spec: z.looseObject({
    podSelector: z.custom<Policy["podSelector"]>().default({}),
    policyTypes: z.array(z.string()).default(["Ingress"]),
    ingress: z.array(z.custom<Policy["ingress"][number]>()).default([]),
    egress: z.array(z.custom<Policy["egress"][number]>()).default([]),
  }),
});

export type Pod = z.infer<typeof podSchema>;
export type Namespace = z.infer<typeof namespaceSchema>;
export type NetworkPolicy = z.infer<typeof policySchema>;

/** Converts objects of the API server. Pods in the node's own network and Pods that have ended are left out. */
export function observedOf(
  pods: readonly Pod[],
  namespaces: readonly Namespace[],
  policies: readonly NetworkPolicy[],
): Observed {
  // The address of a Pod that has ended may already belong to another Pod.
  const live = pods.filter(({ spec, status }) =>
    !spec.hostNetwork && status.phase !== "Succeeded" && status.phase !== "Failed"
  );
  return {
    pods: live.map(({ metadata: { namespace, labels = {} }, spec, status }) => ({
      namespace,
      labels,
      addresses: status.podIPs.map(({ ip }) => ip).filter((ip) => !ip.includes(":")),
      ports: spec.containers.flatMap((container) => container.ports),
    })),
    namespaces: namespaces.map(({ metadata: { name, labels = {} } }) => ({ name, labels })),
    policies: policies.map(({ metadata: { namespace }, spec }) => ({ namespace, ...spec })),
  };
}
