/**
 * The binder's writes and their outcomes. The writes of a claim come one after the other, each on condition of a
 * version.
 * @module
 */
import { type ClaimProblem, lifecycleRefused } from "../api/claims/problem.ts";
import type { Sandbox } from "../api/sandbox.ts";
import {
  type ClaimLifecycle,
  type SandboxClaim,
  sandboxClaimSchema,
  type SandboxClaimStatus,
} from "../api/sandboxclaim.ts";
import { type Answer, answerError, type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import { findRaw } from "../kube/requests.ts";
import { CLAIM_UID_LABEL } from "../api/objects/keys.ts";
import { controllerOf, type ObjectMeta } from "../api/objects/objects.ts";

/**
 * The outcome of a binding.
 *
 * | outcome | meaning |
 * |---|---|
 * | the Sandbox | it is now the claim's, as the API server returned it |
 * | `lost` | another client was faster: the member has changed, or is gone |
 * | `taken` | another object has the name of the Sandbox to create |
 */
export type BindOutcome = Sandbox | "lost" | "taken";

/** Tries of a write to a claim, which other clients may change at the same time. */
const MOST_TRIES = 4;

/** A list that makes the API server track no `managedFields` of the object from now on. */
const FORGOTTEN = [{}];

/**
 * Replaces a member by the claim's Sandbox, and removes its `managedFields` permanently. They are half of what every
 * later event, read and hook call transfers (docs/decisions/0020). Metacontroller keeps track of its own fields in an
 * annotation.
 *
 * @throws {RefusalError} if the API server refuses the object
 * @throws {Error} if the write failed, or its outcome is not known
 */
export async function putSandbox(api: Api, sandbox: Sandbox, claim: SandboxClaim): Promise<BindOutcome> {
  const { namespace, name, resourceVersion } = sandbox.metadata;
  const path = pathOf({ resource: "sandboxes", namespace, name });
  const body = { ...sandbox, metadata: { ...sandbox.metadata, managedFields: FORGOTTEN } };
  const { answer, error } = await certain(api, path, () => api.send({ method: "PUT", path, body }));
  const own = isOk(answer) ? ownOf(claim, answer.body as Sandbox) : undefined;
  if (own) return own;
  // The version is the same as before, so no client has changed the member.
  if (error && isOk(answer) && (answer.body as Sandbox).metadata.resourceVersion === resourceVersion) throw error;
  if (answer.status === 404 || answer.status === 409 || isOk(answer)) return "lost";
  const failure = answerError(`bind Sandbox ${namespace}/${name}`, answer);
  throw isRefusal(answer) ? new RefusalError(failure.message) : failure;
}

/** Deletes a Sandbox of a claim. @throws {Error} if the request is refused or fails */
export async function deleteSandbox(
  api: Api,
  { namespace, name, uid }: { namespace: string; name: string; uid: string },
): Promise<void> {
  const path = pathOf({ resource: "sandboxes", namespace, name });
  const answer = await api.send({ method: "DELETE", path, body: { preconditions: { uid } } });
  const isGone = answer.status === 404 || answer.status === 409;
  if (!isOk(answer) && !isGone) throw answerError(`delete Sandbox ${namespace}/${name}`, answer);
}

/**
 * Creates the claim's own Sandbox. If the claim has one already, returns that.
 * @throws {Error} if the request is refused or fails
 */
export async function postSandbox(api: Api, sandbox: object, claim: SandboxClaim): Promise<BindOutcome> {
  const { namespace, name } = claim.metadata;
  const path = pathOf({ resource: "sandboxes", namespace });
  const own = pathOf({ resource: "sandboxes", namespace, name });
  const { answer, error } = await certain(api, own, () => api.send({ method: "POST", path, body: sandbox }));
  const found = answer.status === 409 ? await api.send({ method: "GET", path: own }) : answer;
  const made = isOk(found) ? ownOf(claim, found.body as Sandbox) : undefined;
  if (made) return made;
  if (error && found.status === 404) throw error;
  // The name was in use by another object, which is gone by now.
  if (answer.status === 409 && found.status === 404) return "lost";
  if (isOk(found)) return "taken";
  if (isRefusal(found)) throw new RefusalError(messageOf(found));
  throw answerError(`create Sandbox ${namespace}/${name}`, found);
}

/**
 * The API server refuses the object, for example because of a quota, a policy or an invalid field. The message is the
 * API server's.
 */
export class RefusalError extends Error {
  override name = "RefusalError";
  /** The problem that the claim reports; undefined: derive it from the message. */
  readonly problem: ClaimProblem | undefined;

  constructor(message: string, problem?: ClaimProblem) {
    super(message);
    this.problem = problem;
  }
}

/** Returns the Sandbox of this name if it is the claim's; undefined if it is not. @throws {Error} if the request fails */
export async function findOwn(api: Api, claim: SandboxClaim, name: string): Promise<Sandbox | undefined> {
  const { namespace } = claim.metadata;
  return ownOf(claim, await findRaw<Sandbox>(api, { kind: "Sandbox", resource: "sandboxes", namespace, name }));
}

/**
 * Searches for the claim's Sandbox under any name. `version` is the version of the collection.
 * @throws {Error} if the request fails
 */
export async function searchOwn(
  api: Api,
  claim: SandboxClaim,
): Promise<{ own: Sandbox | undefined; version: string }> {
  const { namespace, name, uid } = claim.metadata;
  const path = pathOf({ resource: "sandboxes", namespace });
  const query = { labelSelector: `${CLAIM_UID_LABEL}=${uid}` };
  const answer = await api.send({ method: "GET", path, query });
  if (!isOk(answer)) throw answerError(`look for the Sandbox of SandboxClaim ${namespace}/${name}`, answer);
  const { items, metadata } = answer.body as { items: Sandbox[]; metadata: ObjectMeta };
  return { own: items.find((sandbox) => ownOf(claim, sandbox)), version: metadata.resourceVersion ?? "" };
}

/**
 * Writes a claim's status. After a conflict, reads the claim and computes the status again.
 *
 * @param observed as the watch has shown it, not parsed
 * @param compute returns undefined if there is nothing to report
 * @param onRead called with each version that was read, which may be newer than what the watch has shown
 * @returns the claim as written; undefined if it is gone, if there is nothing to report, or if each try had a conflict
 * @throws {Error} if the API server refuses the write, or the write failed
 */
export async function putStatus(
  api: Api,
  observed: SandboxClaim,
  compute: (claim: SandboxClaim) => Promise<SandboxClaimStatus | undefined>,
  onRead: (claim: SandboxClaim) => void,
): Promise<SandboxClaim | undefined> {
  const { namespace, name, uid } = observed.metadata;
  const path = pathOf({ resource: "sandboxclaims", namespace, name });
  let claim = observed;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const status = await compute(claim);
    if (!status) return undefined;
    const answer = await api.send({ method: "PUT", path: `${path}/status`, body: { ...claim, status } });
    if (isOk(answer)) return answer.body as SandboxClaim;
    if (answer.status !== 409) return refused(`write the status of SandboxClaim ${namespace}/${name}`, answer);
    const now = await api.send({ method: "GET", path });
    if (!isOk(now)) return refused(`get SandboxClaim ${namespace}/${name}`, now);
    claim = now.body as SandboxClaim;
    if (claim.metadata.uid !== uid) return undefined;
    onRead(claim);
  }
  return undefined;
}

/**
 * Adds annotations to a claim if it still has this resourceVersion. In a newer version, the claim may already be Ready with
 * another Sandbox.
 *
 * @returns the claim as written; undefined if it has changed or is gone
 */
export async function annotateClaim(
  api: Api,
  { metadata: { namespace, name, uid, resourceVersion } }: SandboxClaim,
  annotations: Record<string, string>,
): Promise<SandboxClaim | undefined> {
  const path = pathOf({ resource: "sandboxclaims", namespace, name });
  const answer = await api.send({ method: "PATCH", path, body: { metadata: { uid, resourceVersion, annotations } } });
  if (isOk(answer)) return answer.body as SandboxClaim;
  return answer.status === 409 ? undefined : refused(`annotate SandboxClaim ${namespace}/${name}`, answer);
}

/**
 * Copies the default lifecycle of the pool into a claim that has none, before the claim gets its Sandbox. Then the
 * claim itself shows when it expires. The write is conditional on the version that lacks a lifecycle. Source: Agent
 * Sandbox, KEP-1306; docs/decisions/0047.
 *
 * @param onWritten called with each version that the API server returns
 * @returns the claim as written
 * @throws {RefusalError} if the API server refuses the write
 * @throws {Error} if the write fails, or the claim has changed since a Sandbox was chosen for it
 */
export async function withDefaults(
  api: Api,
  onWritten: (claim: SandboxClaim) => void,
  observed: SandboxClaim,
  { ttlSecondsAfterFinished, shutdownPolicy }: ClaimLifecycle,
): Promise<SandboxClaim> {
  const { namespace, name, uid } = observed.metadata;
  const path = pathOf({ resource: "sandboxclaims", namespace, name });
  // A pool's defaults have no absolute time.
  const lifecycle: ClaimLifecycle = {
    shutdownPolicy,
    ...(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }),
  };
  let claim = observed;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (claim.spec.lifecycle) return claim;
    const { resourceVersion } = claim.metadata;
    const body = { metadata: { uid, resourceVersion }, spec: { lifecycle } };
    const written = await api.send({ method: "PATCH", path, body });
    if (isRefusal(written)) throw new RefusalError(messageOf(written), lifecycleRefused(messageOf(written)));
    const answer = written.status === 409 ? await api.send({ method: "GET", path }) : written;
    const action = `set the lifecycle of SandboxClaim ${namespace}/${name}`;
    if (!isOk(answer)) throw answerError(action, answer);
    const parsed = sandboxClaimSchema.safeParse(answer.body).data;
    const isSame = parsed?.metadata.uid === uid &&
      (answer === written || parsed?.metadata.generation === observed.metadata.generation);
    if (parsed && isSame) onWritten(answer.body as SandboxClaim);
    if (!parsed || !isSame) throw new Error(`Cannot ${action}: it has changed`);
    claim = parsed;
  }
  throw new Error(`Cannot set the lifecycle of SandboxClaim ${namespace}/${name}: it keeps changing`);
}

/** Sends a write. If no answer comes (`error`), the write may still have succeeded: then `answer` is that of a GET. */
async function certain(
  api: Api,
  path: string,
  write: () => Promise<Answer>,
): Promise<{ answer: Answer; error?: Error }> {
  try {
    return { answer: await write() };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    return { answer: await api.send({ method: "GET", path }), error };
  }
}

function ownOf({ metadata }: SandboxClaim, sandbox: Sandbox | undefined): Sandbox | undefined {
  return sandbox && controllerOf(sandbox.metadata)?.uid === metadata.uid ? sandbox : undefined;
}

/** Returns whether the API server refused the request for good, so that a retry would not help. An admission policy may choose 413. */
export function isRefusal({ status }: Answer): boolean {
  return status === 400 || status === 403 || status === 413 || status === 422;
}

function refused(action: string, answer: Answer): undefined {
  if (answer.status !== 404) throw answerError(action, answer);
}
