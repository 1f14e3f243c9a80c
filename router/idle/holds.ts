/** Whether somebody holds a sandbox up by a Lease. Asks the API server, and no more often than it has to. @module */
import * as z from "zod";
import { answerError, type Api, pathOf } from "../../kube/api.ts";
import { HOLD_LABEL } from "../keys.ts";

const leasesSchema = z.object({
  items: z.array(z.object({
    metadata: z.object({ labels: z.record(z.string(), z.string()).optional() }),
    spec: z.object({
      holderIdentity: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
    }).optional(),
  })),
});

/**
 * Tells whether a Lease with the label names the Sandbox, has a holder, and was renewed within its duration. One without a
 * duration holds until it goes.
 *
 * @throws {Error} if the API server does not say
 */
export async function isHeld(api: Api, namespace: string, name: string, now: number): Promise<boolean> {
  const path = pathOf({ resource: "leases", namespace });
  const answer = await api.send({ method: "GET", path, query: { labelSelector: `${HOLD_LABEL}=${name}` } });
  const leases = answer.status === 200 ? leasesSchema.safeParse(answer.body).data : undefined;
  if (!leases) throw answerError(`list Leases that hold ${namespace}/${name}`, answer);
  return leases.items.some(({ metadata, spec }) => {
    if (metadata.labels?.[HOLD_LABEL] !== name || !spec?.holderIdentity) return false;
    const { renewTime, leaseDurationSeconds: seconds } = spec;
    const until = seconds ? Date.parse(renewTime ?? "") + seconds * 1000 : Infinity;
    return Number.isNaN(until) || until > now;
  });
}
