/** What the binder writes, and what came of it. One request after the other, each on condition of a version. @module */
import type { ClaimProblem } from "../api/claimproblem.ts";
import type { Sandbox } from "../api/sandbox.ts";
import {
  type ClaimLifecycle,
  type SandboxClaim,
  sandboxClaimSchema,
  type SandboxClaimStatus,
} from "../api/sandboxclaim.ts";
import { lifecycleRefused } from "../api/claims/unserved.ts";
import { type Answer, answerError, type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import { findRaw } from "../kube/find.ts";
import { CLAIM_UID_LABEL } from "../api/objects/keys.ts";
import { controllerOf, type ObjectMeta } from "../api/objects/objects.ts";
import { assumeWritten, type QueuedClaim } from "./state.ts";

/**
 * What came of giving a claim a Sandbox.
 *
 * | outcome | meaning |
 * |---|---|
 * | the Sandbox | it is the claim's now, as the API server has it |
 * | `lost` | somebody was faster: the member has changed, or is gone |
 * | `taken` | the name of the Sandbox to be made is somebody else's |
 */
export type BindOutcome = Sandbox | "lost" | "taken";

/** Writes of a claim that others write to at the same time. */
const MOST_TRIES = 4;

/** A list that has the API server keep no `managedFields` of an object from now on. */
const FORGOTTEN = [{}];

/**
 * Replaces a member by the claim's Sandbox, whose `managedFields` go for good: they are half of what every later event, read
 * and call of a hook carries (docs/decisions/0020), and who owns which field is in Metacontroller's own annotation.
 *
 * @throws {RefusalError} if the API server does not want it so
 * @throws {Error} if it has not come through, or if nobody knows
 */
export async function putSandbox(api: Api, sandbox: Sandbox, claim: SandboxClaim): Promise<BindOutcome> {
  const { namespace, name, resourceVersion } = sandbox.metadata;
  const path = pathOf({ resource: "sandboxes", namespace, name });
  const body = { ...sandbox, metadata: { ...sandbox.metadata, managedFields: FORGOTTEN } };
  const { answer, error } = await certain(api, path, () => api.send({ method: "PUT", path, body }));
  const own = isOk(answer) ? ownOf(claim, answer.body as Sandbox) : undefined;
  if (own) return own;
  // As it was: nobody has taken it.
  if (error && isOk(answer) && (answer.body as Sandbox).metadata.resourceVersion === resourceVersion) throw error;
  if (answer.status === 404 || answer.status === 409 || isOk(answer)) return "lost";
  const failure = answerError(`hand over Sandbox ${namespace}/${name}`, answer);
  throw isRefusal(answer) ? new RefusalError(failure.message) : failure;
}

/** Creates the claim's own Sandbox; one that it has already is as good. @throws {Error} if it is refused, or has not come through */
export async function postSandbox(api: Api, sandbox: object, claim: SandboxClaim): Promise<BindOutcome> {
  const { namespace, name } = claim.metadata;
  const path = pathOf({ resource: "sandboxes", namespace });
  const own = pathOf({ resource: "sandboxes", namespace, name });
  const { answer, error } = await certain(api, own, () => api.send({ method: "POST", path, body: sandbox }));
  const found = answer.status === 409 ? await api.send({ method: "GET", path: own }) : answer;
  const made = isOk(found) ? ownOf(claim, found.body as Sandbox) : undefined;
  if (made) return made;
  if (error && found.status === 404) throw error;
  // The name was somebody's, and is free by now.
  if (answer.status === 409 && found.status === 404) return "lost";
  if (isOk(found)) return "taken";
  if (isRefusal(found)) throw new RefusalError(messageOf(found));
  throw answerError(`create Sandbox ${namespace}/${name}`, found);
}

/** The API server does not want a Sandbox as it is to be: a quota, a policy, an invalid field. The message has its own words. */
export class RefusalError extends Error {
  override name = "RefusalError";
  /** The problem that the claim reports; undefined: one is made from the message. */
  readonly problem: ClaimProblem | undefined;

  constructor(message: string, problem?: ClaimProblem) {
    super(message);
    this.problem = problem;
  }
}

/** Looks whether the Sandbox of that name is the claim's; undefined: it is not. @throws {Error} if nobody knows */
export async function findOwn(api: Api, claim: SandboxClaim, name: string): Promise<Sandbox | undefined> {
  const { namespace } = claim.metadata;
  return ownOf(claim, await findRaw<Sandbox>(api, { kind: "Sandbox", resource: "sandboxes", namespace, name }));
}

/** Looks for the claim's Sandbox, whatever its name is; `version`: that of the collection. @throws {Error} if nobody knows */
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
 * Writes a claim's status, computed anew for each version of the claim that is found.
 *
 * @param observed as the watch has shown it, untouched by a parser
 * @param compute undefined: there is nothing to say
 * @returns the claim as it is then; undefined: it is gone, there is nothing to say, or it changes all the time
 */
export async function putStatus(
  api: Api,
  observed: SandboxClaim,
  compute: (claim: SandboxClaim) => SandboxClaimStatus | undefined,
): Promise<SandboxClaim | undefined> {
  const { namespace, name, uid } = observed.metadata;
  const path = pathOf({ resource: "sandboxclaims", namespace, name });
  let claim = observed;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const status = compute(claim);
    if (!status) return undefined;
    const answer = await api.send({ method: "PUT", path: `${path}/status`, body: { ...claim, status } });
    if (isOk(answer)) return answer.body as SandboxClaim;
    if (answer.status !== 409) return refused(`write the status of SandboxClaim ${namespace}/${name}`, answer);
    const now = await api.send({ method: "GET", path });
    if (!isOk(now)) return refused(`get SandboxClaim ${namespace}/${name}`, now);
    claim = now.body as SandboxClaim;
    if (claim.metadata.uid !== uid) return undefined;
  }
  return undefined;
}

/**
 * Adds annotations to a claim on condition of its resourceVersion: in a version that has not been seen, the claim may already
 * be Ready with another Sandbox.
 *
 * @returns the claim as written; undefined: it has changed, or is gone
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
 * Copies the default lifecycle of its pool into a claim that has none, before the claim gets its Sandbox: the claim itself then
 * shows when it expires. On condition that the claim still has the version that lacks one.
 * Source: Agent Sandbox, KEP-1306; docs/decisions/0047.
 *
 * @returns the claim as written
 * @throws {RefusalError} if the API server refuses the write
 * @throws {Error} if the write fails, or the claim has changed since a Sandbox was chosen for it
 */
export async function withDefaults(
  api: Api,
  entry: QueuedClaim,
  observed: SandboxClaim,
  { ttlSecondsAfterFinished, shutdownPolicy }: ClaimLifecycle,
): Promise<SandboxClaim> {
  const { namespace, name, uid } = observed.metadata;
  const path = pathOf({ resource: "sandboxclaims", namespace, name });
  // A pool gives no absolute time.
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
    if (parsed && isSame) assumeWritten(entry, answer.body as SandboxClaim);
    if (!parsed || !isSame) throw new Error(`Cannot ${action}: it has changed`);
    claim = parsed;
  }
  throw new Error(`Cannot set the lifecycle of SandboxClaim ${namespace}/${name}: it keeps changing`);
}

/** Sends a write; where no answer comes (`error`) it may have landed all the same: `answer` is that of a look then. */
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

/** Tells whether asking again would not help. */
export function isRefusal({ status }: Answer): boolean {
  return status === 400 || status === 403 || status === 422;
}

function refused(action: string, answer: Answer): undefined {
  if (answer.status !== 404) throw answerError(action, answer);
}
