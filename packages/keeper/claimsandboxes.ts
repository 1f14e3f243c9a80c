/**
 * Whether claims say what their Sandboxes are like. Metacontroller shows the claim hook both by watches of their own, in no
 * promised order, and a change of status alone does not call it: what it has missed, the keeper notices here.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { isFinal, isReachable } from "../api/claims/binding.ts";
import { EXTENSIONS_GROUP } from "../api/crd.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { controllerOf, groupOf } from "../api/objects/objects.ts";
import type { EventHandler } from "../kube/watch.ts";

/** Reasons of a claim's Ready that are its own while it has a Sandbox, however that is. */
const OWN = new Set(["ClaimExpired", "InvalidMetadata", "ReconcilerError"]);

/** What is remembered of a claim's Sandbox. */
interface Had {
  /** UID of the claim. */
  claim: string;
  name: string;
  /** Status of its Ready, as a claim would say it; undefined: it has said nothing, is about to go, or has no address yet. */
  ready: "True" | "False" | undefined;
}

export interface ClaimSandboxes {
  handler: EventHandler<Sandbox>;
  /**
   * Tells whether a claim says something else than what is seen of its Sandbox. False of one that is being deleted, and
   * while Sandboxes have not been listed.
   */
  isContradicted(claim: SandboxClaim): boolean;
  /** Has a listener called with the UID of a claim whose Sandbox has appeared, changed or gone; undefined: any may have. */
  onChange(listener: (claim: string | undefined) => void): void;
}

/** Makes the memory; it holds nothing of Sandboxes that no claim has. */
export function createClaimSandboxes(): ClaimSandboxes {
  const byUid = new Map<string, Had>();
  const byClaim = new Map<string, Map<string, Had>>();
  const listeners: ((claim: string | undefined) => void)[] = [];
  let isListed = false;
  const tell = (claim: string | undefined) => listeners.forEach((listener) => listener(claim));

  function forget(uid: string): void {
    const had = byUid.get(uid);
    if (!had) return;
    byUid.delete(uid);
    const group = byClaim.get(had.claim);
    group?.delete(uid);
    if (group?.size === 0) byClaim.delete(had.claim);
    tell(had.claim);
  }

  return {
    handler: {
      observe(sandbox) {
        const { uid = "" } = sandbox.metadata;
        const had = hadOf(sandbox);
        const before = byUid.get(uid);
        if (had?.claim === before?.claim && had?.ready === before?.ready) return;
        if (before && had?.claim !== before.claim) forget(uid);
        if (!had) return;
        byUid.set(uid, had);
        byClaim.set(had.claim, (byClaim.get(had.claim) ?? new Map<string, Had>()).set(uid, had));
        tell(had.claim);
      },
      gone: forget,
      listed(uids) {
        isListed = true;
        for (const uid of [...byUid.keys()]) if (!uids.has(uid)) forget(uid);
        tell(undefined);
      },
    },
    isContradicted(claim) {
      const { uid = "", deletionTimestamp } = claim.metadata;
      if (!isListed || deletionTimestamp !== undefined) return false;
      return contradicts([...byClaim.get(uid)?.values() ?? []], claim);
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

function hadOf(sandbox: Sandbox): Had | undefined {
  const owner = controllerOf(sandbox.metadata);
  if (owner?.kind !== "SandboxClaim" || groupOf(owner.apiVersion) !== EXTENSIONS_GROUP) return undefined;
  const { name, deletionTimestamp } = sandbox.metadata;
  const status = findCondition(sandbox.status?.conditions, "Ready")?.status;
  const isKnown = deletionTimestamp === undefined && (status === "False" || isReachable(sandbox));
  return { claim: owner.uid, name, ready: isKnown && status !== "Unknown" ? status : undefined };
}

/**
 * Decides by what a claim has.
 *
 * | it has | it says | contradicted |
 * |---|---|---|
 * | none | the name of one, which has not come to its end | yes |
 * | one of which nothing is known yet, or several | | no |
 * | one | nothing, or another's name | yes, unless it has expired |
 * | one that is not Ready | that it is | yes |
 * | one that is Ready | that it is not, for the Sandbox's reason | yes |
 */
function contradicts(had: readonly Had[], claim: SandboxClaim): boolean {
  const shown = claim.status?.sandbox?.name;
  const ready = findCondition(claim.status?.conditions, "Ready");
  const isExpired = ready?.reason === "ClaimExpired";
  const [only, ...others] = had;
  if (!only) return shown !== undefined && !isExpired && !isFinal(claim);
  if (others.length > 0 || only.ready === undefined) return false;
  if (!ready || shown !== only.name) return !isExpired;
  return ready.status !== only.ready && (only.ready === "False" || !OWN.has(ready.reason));
}
