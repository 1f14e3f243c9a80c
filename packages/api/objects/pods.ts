/** What hookbox reads of a Pod. @module */
import * as z from "zod";
import { kubeObjectSchema } from "./objects.ts";

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

/** An observed Pod: the fields that decide, and all others as they are. */
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

/** Returns the Pod's condition of that type, `undefined` if it has not been reported. */
export function podCondition(pod: Pod, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

/** Tells whether the Pod's `Ready` condition is True; a terminating Pod stays Ready until its containers have ended. */
export function isPodReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

/**
 * Tells how the Pod has ended; `undefined` of one that may still run.
 *
 * One that is being deleted has not ended by itself: the kubelet ends its containers, says Failed or Succeeded, and only
 * then lets it go. Another Pod follows, and nobody is to give up on it.
 */
export function podEnd({ metadata, status }: Pod): "Succeeded" | "Failed" | undefined {
  const phase = status?.phase;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  return phase === "Succeeded" || phase === "Failed" ? phase : undefined;
}

/** Returns the Pod's addresses, in the order of its status; `[]` while it has none. */
export function podIPs(pod: Pod): string[] {
  return (pod.status?.podIPs ?? []).map(({ ip }) => ip);
}
