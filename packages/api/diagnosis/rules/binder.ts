/** Finds out from the binder's Lease whether no binder is running. @module */
import type { SandboxClaim } from "../../sandboxclaim.ts";
import { BINDER_LEASE, SYSTEM_NAMESPACE } from "../../installation.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, type Evidence, type ObjectRef } from "../finding.ts";
import { evidenceOf, secondsSince } from "../scene.ts";

/**
 * A running binder has served a claim after this many seconds. The clocks of cluster and reader may differ by as much.
 */
export const BINDING_SECONDS = 10;
/** If there is no Lease, a binder may run without one and be busy, so the rule waits this many seconds. */
const GUESS_SECONDS = 30;

/**
 * Returns why a claim without a Sandbox waits.
 *
 * | Lease | finding |
 * |---|---|
 * | not read | none |
 * | held, and renewed within its duration or within 10 s | none |
 * | held, but not renewed | BinderDown, since the last renewal |
 * | released | BinderDown, since then |
 * | does not exist | BinderDown after 30 s, as a guess: a binder may run without a Lease |
 */
export function binderDown(claim: SandboxClaim, at: ObjectRef, { binder }: Facts, now: Date): Cause | undefined {
  const { creationTimestamp } = claim.metadata;
  const patience = binder ? BINDING_SECONDS : GUESS_SECONDS;
  if (binder === undefined || secondsSince(creationTimestamp, now) < patience) return undefined;
  const { holderIdentity, renewTime, leaseDurationSeconds = 0 } = binder?.spec ?? {};
  const isRenewed = secondsSince(renewTime, now) < Math.max(leaseDurationSeconds, BINDING_SECONDS);
  if (holderIdentity && isRenewed) return undefined;
  const object = { kind: "Lease", namespace: binder?.metadata.namespace ?? SYSTEM_NAMESPACE, name: BINDER_LEASE };
  const seen: Omit<Evidence, "object"> = !binder
    ? { where: "metadata.name", text: "there is no such Lease" }
    : holderIdentity
    ? { where: "spec.renewTime", text: `${holderIdentity} renewed it last at ${renewTime}` }
    : { where: "spec.holderIdentity", text: `nobody since ${renewTime ?? "it was made"}` };
  return cause("BinderDown", {
    object,
    summary: `The binder is not running: nobody holds Lease "${BINDER_LEASE}", so claims get no Sandboxes.`,
    evidence: [{ object, ...seen }, ...evidenceOf(at, claim.status?.conditions, "Ready")],
    since: renewTime ?? creationTimestamp,
    isGuess: !binder,
  });
}
