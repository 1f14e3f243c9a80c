/**
 * Whether claims say what their Sandboxes are like. Metacontroller shows the claim hook both by watches of their own, in no
 * promised order, and a change of status alone does not call it: what it has missed, the keeper notices here.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { isFinal, isReachable } from "../api/claims/binding.ts";
import { isMetadataConflict } from "../api/claims/podmetadata.ts";
import { EXTENSIONS_GROUP } from "../api/crd.ts";
import { type Condition, findCondition } from "../api/objects/conditions.ts";
import { controllerOf, groupOf, uidKey } from "../api/objects/objects.ts";
import type { EventHandler } from "../kube/watch.ts";

/** Tells whether a claim's Ready is its own while it has a Sandbox, however that is. */
function isOwn({ reason, message }: Condition): boolean {
  return reason === "InvalidMetadata" || reason === "ReconcilerError" && isMetadataConflict(message);
}

/** What is remembered of a claim's Sandbox. */
interface Had {
  /** {@link uidKey} of the claim. */
  claim: string;
  name: string;
  /** What a claim would say of it; undefined: it has said nothing, is about to go, or has no address yet. */
  told: Told | undefined;
}

/** A Ready condition, as `<status> <reason>`, and addresses, with commas between. */
interface Told {
  ready: string;
  podIPs: string;
}

export interface ClaimSandboxes {
  handler: EventHandler<Sandbox>;
  /**
   * Tells whether a claim says something else than what is seen of its Sandbox. False of one that is being deleted, and
   * while Sandboxes have not been listed.
   */
  isContradicted(claim: SandboxClaim): boolean;
  /**
   * Calls `listener` with the {@link uidKey} of a claim if its Sandbox appears, changes or goes; undefined: this may have
   * happened to any claim.
   */
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
        if (had?.claim === before?.claim && isSame(had?.told, before?.told)) return;
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
      const { namespace, uid, deletionTimestamp } = claim.metadata;
      if (!isListed || deletionTimestamp !== undefined) return false;
      return contradicts(byClaim.get(uidKey(namespace, uid)), claim);
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

function hadOf(sandbox: Sandbox): Had | undefined {
  const owner = controllerOf(sandbox.metadata);
  if (owner?.kind !== "SandboxClaim" || groupOf(owner.apiVersion) !== EXTENSIONS_GROUP) return undefined;
  const { namespace, name, deletionTimestamp } = sandbox.metadata;
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  const isKnown = deletionTimestamp === undefined && (ready?.status === "False" || isReachable(sandbox));
  return { claim: uidKey(namespace, owner.uid), name, told: isKnown ? toldOf(ready, sandbox.status) : undefined };
}

function toldOf(ready: Condition | undefined, addresses: { podIPs?: string[] | undefined } | undefined) {
  return ready && { ready: `${ready.status} ${ready.reason}`, podIPs: (addresses?.podIPs ?? []).join() };
}

function isSame(one: Told | undefined, other: Told | undefined): boolean {
  return one?.ready === other?.ready && one?.podIPs === other?.podIPs;
}

/**
 * Decides by what a claim has.
 *
 * | it has | it says | contradicted |
 * |---|---|---|
 * | none | the name of one, which has not come to its end | yes |
 * | one of which nothing is known yet, or several | | no |
 * | one | that it has expired | no |
 * | one | nothing, another's name, other addresses | yes |
 * | one | another Ready, and not for a reason of its own | yes |
 */
function contradicts(had: ReadonlyMap<string, Had> | undefined, claim: SandboxClaim): boolean {
  const shown = claim.status?.sandbox;
  const ready = findCondition(claim.status?.conditions, "Ready");
  const told = toldOf(ready, shown);
  const isExpired = ready?.reason === "ClaimExpired";
  const only = had?.values().next().value;
  if (!had || !only) return shown?.name !== undefined && !isExpired && !isFinal(claim);
  if (had.size > 1 || !only.told || isExpired) return false;
  if (!ready || !told || shown?.name !== only.name || told.podIPs !== only.told.podIPs) return true;
  return told.ready !== only.told.ready && !isOwn(ready);
}
