/**
 * Reports that the API server does not let Metacontroller change or delete the Sandbox of a claim. The report is an
 * annotation of the Sandbox, which the claim's hook reads. It is removed when the refusal ends.
 * @module
 */
import { isPublished } from "../api/expiry.ts";
import { type Sandbox, sandboxSchema } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { boundSandbox } from "../api/claims/binding.ts";
import { outstandingMetadata } from "../api/claims/boundmetadata.ts";
import { metadataProblem } from "../api/claims/podmetadata.ts";
import { type RefusedWrite, refusedWrite, refusedWriteText } from "../api/keeperreports.ts";
import { CLAIM_METADATA_ANNOTATION, REFUSED_WRITE_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta, OwnerReference } from "../api/objects/objects.ts";
import { answerError, type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import { findObject, patchOf } from "../kube/requests.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { Getter, Kept } from "../kube/kept.ts";
import { type Intervals, lookReconciler, type Report, type Situation } from "./reconciler.ts";
import { extensionOwner } from "./readopt.ts";
import type { RefusedWrites } from "./refusedwrites.ts";
import type { ReconcileQueue, Reconciler } from "../kube/reconcilequeue.ts";

interface StuckSandboxOptions extends AllowedDomains {
  api: Api;
  log: Log;
  report: Report;
  /** The API server's refusals of writes for claims. */
  refusedWrites: Pick<RefusedWrites, "of">;
  /** @default {systemClock} */
  clock?: Clock | undefined;
}

/** Domains of keys that claims may use. */
interface AllowedDomains {
  allowedLabelDomains: readonly string[];
  /** Undefined: all domains that are not reserved. */
  allowedAnnotationDomains?: readonly string[] | undefined;
}

/** A refusal that ends within `settle` is not reported. In milliseconds. */
const STUCK_INTERVALS: Intervals = { settle: 1500, problem: 30_000, calm: 30_000 };

/**
 * `refused` is absent if the Sandbox has no claim, or if the annotation is unreadable and no refusal is known. Then the
 * annotation is removed.
 */
type StuckSituation = Situation & { refused?: { claim: OwnerReference; words: string } };

/** Creates the reconciler. It sends no request for a Sandbox for which no write was refused. */
export function stuckSandboxReconciler(options: StuckSandboxOptions): Reconciler<Sandbox> {
  const { refusedWrites, clock } = options;
  return lookReconciler({
    name: "stuck Sandboxes of claims",
    intervals: STUCK_INTERVALS,
    clock,
    situationOf: ({ metadata }: Sandbox, now) => situationOf(metadata, refusedWrites, now),
    async look(sandbox, { refused }) {
      const verb = refused && await writeOf(sandbox, refused.claim, options);
      const report = refused && verb ? { verb, words: refused.words } : undefined;
      const isPublished = await publish(sandbox, report, options);
      return report || !isPublished ? "problem" : "coming";
    },
  });
}

/** Creates a function that queues the Sandbox to which a claim is bound. It does nothing if there is none. */
export function requeueBoundSandbox(api: Api, claims: Getter<SandboxClaim>, queue: ReconcileQueue<Sandbox>) {
  return async (claim: Kept<SandboxClaim>["metadata"]): Promise<void> => {
    const name = (await claims.get(claim))?.status?.sandbox?.name;
    if (!name) return;
    const { namespace } = claim;
    const sandbox = await findObject(api, { resource: "sandboxes", namespace, name }, sandboxSchema);
    if (sandbox) queue.observe(sandbox);
  };
}

/**
 * Returns the reason to check a Sandbox; undefined: there is none.
 *
 * | Sandbox | a write for its claim was refused | annotation | situation |
 * |---|---|---|---|
 * | being deleted | any | any | none |
 * | of a claim | recently | any | look |
 * | of a claim | not recently | present | look: an earlier report holds until the write has succeeded, because Events expire |
 * | otherwise | | present | leftover |
 * | otherwise | | absent | none |
 */
function situationOf(
  metadata: ObjectMeta,
  refusedWrites: StuckSandboxOptions["refusedWrites"],
  now: number,
): StuckSituation | undefined {
  const { namespace, annotations = {}, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return undefined;
  const owner = extensionOwner(metadata);
  const claim = owner?.kind === "SandboxClaim" ? owner : undefined;
  const words = claim && (refusedWrites.of({ namespace, uid: claim.uid }, now) ?? refusedWrite(metadata)?.words);
  if (claim && words !== undefined) {
    // If the update of the Pod's metadata succeeds, the record of this metadata changes.
    const key = `${claim.uid} ${annotations[CLAIM_METADATA_ANNOTATION]} ${words}`;
    return { key, kind: "look", refused: { claim, words } };
  }
  return annotations[REFUSED_WRITE_ANNOTATION] === undefined ? undefined : { key: "leftover", kind: "leftover" };
}

/**
 * Reads the claim, and returns which write of its Sandbox is outstanding; undefined: none, or the claim is not bound to
 * this Sandbox.
 */
async function writeOf(
  sandbox: Sandbox,
  { name, uid }: OwnerReference,
  options: StuckSandboxOptions,
): Promise<RefusedWrite["verb"] | undefined> {
  const { namespace } = sandbox.metadata;
  const claim = await findObject(options.api, { resource: "sandboxclaims", namespace, name }, sandboxClaimSchema);
  if (claim?.metadata.uid !== uid || claim.metadata.deletionTimestamp !== undefined) return undefined;
  return boundSandbox(claim, [sandbox]) && outstandingWrite(claim, sandbox, options);
}

/** Returns which write of a claim's Sandbox is outstanding; undefined: none, or the Sandbox is being deleted. */
export function outstandingWrite(
  claim: SandboxClaim,
  sandbox: Sandbox,
  { allowedLabelDomains, allowedAnnotationDomains }: AllowedDomains,
): RefusedWrite["verb"] | undefined {
  if (sandbox.metadata.deletionTimestamp !== undefined) return undefined;
  if (isPublished(claim, "ClaimExpired")) {
    return claim.spec.lifecycle?.shutdownPolicy === "Retain" ? "delete" : undefined;
  }
  // If the claim asks for metadata that is not allowed, the hook changes nothing.
  if (metadataProblem(claim.spec.additionalPodMetadata, allowedLabelDomains, allowedAnnotationDomains)) {
    return undefined;
  }
  const update = outstandingMetadata(claim, sandbox);
  return update && !("problem" in update) ? "update" : undefined;
}

/**
 * Writes or removes the annotation. The API server may refuse this write too; then only Metacontroller's Event reports
 * the refusal.
 *
 * @returns false if the annotation was not written, because the Sandbox has changed or is gone, or the write was
 *   refused
 */
async function publish(
  { metadata }: Sandbox,
  refused: RefusedWrite | undefined,
  { api, log, report }: StuckSandboxOptions,
): Promise<boolean> {
  const text = refused && refusedWriteText(refused);
  if (metadata.annotations?.[REFUSED_WRITE_ANNOTATION] === text) return true;
  const { namespace, name } = metadata;
  const path = pathOf({ resource: "sandboxes", namespace, name });
  const body = patchOf(metadata, { annotations: { [REFUSED_WRITE_ANNOTATION]: text ?? null } });
  const answer = await api.send({ method: "PATCH", path, body });
  if (answer.status === 404 || answer.status === 409) return false;
  if (answer.status >= 400 && answer.status < 500) {
    log("warn", "Cannot report on a Sandbox that the API server refuses to change or delete it", {
      ...{ namespace, name, verb: refused?.verb, error: messageOf(answer) },
    });
    return false;
  }
  if (!isOk(answer)) throw answerError(`patch Sandbox ${namespace}/${name}`, answer);
  if (refused) report("annotated", metadata, { ...refused });
  else report("annotation removed", metadata, { annotation: REFUSED_WRITE_ANNOTATION });
  return true;
}
