/** Who may hold a Lease: the decision, and what to write. Pure. Source: k8s.io/client-go tools/leaderelection, 0.36. @module */
import * as z from "zod";

/** What is read of a Lease (coordination.k8s.io/v1). */
export const leaseSchema = z.object({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  spec: z.looseObject({
    holderIdentity: z.string().optional(),
    leaseDurationSeconds: z.number().optional(),
    leaseTransitions: z.number().optional(),
  }).default({}),
});
export type Lease = z.infer<typeof leaseSchema>;

/** The Lease as last seen, and when it was first seen so, by our own clock in milliseconds: clocks need not agree. */
export interface Sighting {
  version: string;
  since: number;
}

/** Returns the sighting after reading the Lease at `now`. */
export function sight(before: Sighting | undefined, lease: Lease, now: number): Sighting {
  const version = lease.metadata.resourceVersion;
  return before?.version === version ? before : { version, since: now };
}

/**
 * Decides what a candidate does with the Lease that it sees.
 *
 * | holder | unchanged for longer than the holder's term | step |
 * |---|---|---|
 * | nobody | | take |
 * | me | | renew |
 * | another | no | wait |
 * | another | yes | take |
 */
export function electionStep(lease: Lease, sighting: Sighting, me: string, now: number): "take" | "renew" | "wait" {
  const { holderIdentity: holder, leaseDurationSeconds: term = 0 } = lease.spec;
  if (!holder) return "take";
  if (holder === me) return "renew";
  return now - sighting.since > term * 1000 ? "take" : "wait";
}

/** Returns the spec of a Lease that is taken or renewed; `previous` is undefined where there is none yet. */
export function heldSpec(previous: Lease | undefined, me: string, termSeconds: number, now: Date): object {
  const { holderIdentity, leaseTransitions = 0 } = previous?.spec ?? {};
  const renewTime = microTime(now);
  const isNew = holderIdentity !== me;
  return {
    holderIdentity: me,
    leaseDurationSeconds: termSeconds,
    renewTime,
    ...(isNew ? { acquireTime: renewTime, leaseTransitions: previous ? leaseTransitions + 1 : 0 } : {}),
  };
}

/** Returns the spec of a Lease that is given back: anybody may take it at once. */
export function releasedSpec(now: Date): object {
  return { holderIdentity: null, leaseDurationSeconds: 1, renewTime: microTime(now) };
}

/** Writes an instant as metav1.MicroTime does. */
function microTime(instant: Date): string {
  return instant.toISOString().replace("Z", "000Z");
}
