/** Pods, Namespaces and NetworkPolicies as far as a ruleset needs them. Pure. @module */
import * as z from "zod";
import { objectMetaSchema } from "../../../packages/api/objects/objects.ts";
import type { Observed, Policy } from "./ruleset.ts";

const metadata = objectMetaSchema.extend({ namespace: z.string().default("") });
const port = z.looseObject({ name: z.string().optional(), containerPort: z.number(), protocol: z.string().optional() });

/** A Pod, with what it listens on. */
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

/** A Namespace: its labels count. */
export const namespaceSchema = z.looseObject({ metadata: objectMetaSchema });

/** A NetworkPolicy: the API server has checked its rules. */
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

/** Reads objects as the API server has them, without the Pods of the node's own network and those that have ended. */
export function observedOf(
  pods: readonly Pod[],
  namespaces: readonly Namespace[],
  policies: readonly NetworkPolicy[],
): Observed {
  // A Pod that has ended may have left its address to another.
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
