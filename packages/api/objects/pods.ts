/** Schema of the Pod fields that hookbox reads. @module */
import * as z from "zod";
import { kubeObjectSchema } from "./schemas.ts";

const podConditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const containerStatusSchema = z.looseObject({
  name: z.string(),
  image: z.string().optional(),
  state: z.looseObject({
    waiting: z.looseObject({ reason: z.string().optional(), message: z.string().optional() }).optional(),
  }).optional(),
});

/** An observed Pod: the fields that hookbox uses, and all others unchanged. */
export const podSchema = kubeObjectSchema.extend({
  spec: z.looseObject({ nodeName: z.string().optional() }).optional(),
  status: z
    .looseObject({
      phase: z.string().optional(),
      podIPs: z.array(z.looseObject({ ip: z.string() })).optional(),
      conditions: z.array(podConditionSchema).optional(),
      initContainerStatuses: z.array(containerStatusSchema).optional(),
      containerStatuses: z.array(containerStatusSchema).optional(),
    })
    .optional(),
});
export type Pod = z.infer<typeof podSchema>;
export type ContainerStatus = z.infer<typeof containerStatusSchema>;
export type PodCondition = z.infer<typeof podConditionSchema>;

/** Returns the Pod's condition of this type; undefined: it has not been reported. */
export function podCondition(pod: Pod, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

/** Tells whether the Pod's `Ready` condition is True. A terminating Pod stays Ready until its containers have ended. */
export function isPodReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

/**
 * Returns how the Pod has ended; undefined: it may still run.
 *
 * A Pod that is being deleted does not count as ended: the kubelet stops its containers, reports Failed or Succeeded,
 * and then lets the API server remove it. Another Pod follows, so clients must not give up.
 */
export function podEnd({ metadata, status }: Pod): "Succeeded" | "Failed" | undefined {
  const phase = status?.phase;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  return phase === "Succeeded" || phase === "Failed" ? phase : undefined;
}

/** Returns the Pod's addresses, in the order of its status; `[]`: it has none yet. */
export function podIPs(pod: Pod): string[] {
  return (pod.status?.podIPs ?? []).map(({ ip }) => ip);
}
