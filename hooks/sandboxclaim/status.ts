/** The status of a claim: the Sandbox that it was given, and how that is. @module */
import type { SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { finishedCondition, readyCondition, type Situation } from "./readiness.ts";

const OUR_TYPES = new Set(["Finished", "Ready"]);

/** Computes the status: name, addresses and Ready of the Sandbox in one piece. Conditions are in order of type. */
export function computeStatus(situation: Situation, now: Date): SandboxClaimStatus {
  const { claim, sandbox } = situation;
  const finished = finishedCondition(situation);
  const foreign = (claim.status?.conditions ?? []).filter(({ type }) => !OUR_TYPES.has(type));
  const podIPs = sandbox?.status?.podIPs ?? [];
  return {
    conditions: [...(finished ? [finished] : []), readyCondition(situation, now), ...foreign],
    ...(sandbox ? { sandbox: { name: sandbox.metadata.name, ...(podIPs.length > 0 ? { podIPs } : {}) } } : {}),
  };
}
