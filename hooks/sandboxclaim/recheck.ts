/** Whether a claim has to be looked at again because what was answered may not have been written. @module */
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandboxclaim.ts";
import { sameJson } from "../../lib/apply.ts";
import type { Decorated } from "../../lib/metacontroller.ts";

const SOON_SECONDS = 0.25;
const LATER_SECONDS = 5;

/**
 * Returns the seconds after which to look again without an event; undefined: nothing is written.
 *
 * Metacontroller drops an answer to a claim that has changed since, and a change of status or finalizers alone wakes
 * nobody (`ignoreStatusChanges`): a hook that answers before it sees its own last write would not be asked again.
 *
 * | answer | look again |
 * |---|---|
 * | writes the status alone | soon: its event wakes nobody |
 * | writes annotations | later: its event wakes us, unless the write was dropped |
 * | writes nothing | never |
 */
export function recheckSeconds(
  { status, annotations }: Omit<Decorated<SandboxClaimStatus>, "attachments">,
  claim: SandboxClaim,
): number | undefined {
  const { metadata } = claim;
  if (hasNews(annotations, metadata.annotations)) return LATER_SECONDS;
  return status && !sameJson(status, claim.status) ? SOON_SECONDS : undefined;
}

function hasNews(changes: Record<string, string | null> = {}, map: Record<string, string> = {}): boolean {
  return Object.entries(changes).some(([key, value]) => (map[key] ?? null) !== value);
}
