/**
 * The lifecycle that a pool gives to claims without one: it is copied into the claim before the claim gets its Sandbox, so
 * that the claim itself says when it expires. Source: Agent Sandbox, KEP-1306; docs/decisions/0047. @module
 */
import { type ClaimLifecycle, type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { lifecycleRefused } from "../api/claims/unserved.ts";
import { answerError, type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import type { Entry } from "./state.ts";
import { isRefusal, RefusalError } from "./writes.ts";

const MOST_TRIES = 4;

/** Returns what the pool gives to this claim; undefined: nothing, or the claim has its own. A pool gives no absolute time. */
export function defaultLifecycle(claim: SandboxClaim, { spec }: SandboxWarmPool): ClaimLifecycle | undefined {
  const given = spec.claimDefaults?.lifecycle;
  if (!given || claim.spec.lifecycle) return undefined;
  const { ttlSecondsAfterFinished, shutdownPolicy } = given;
  return { shutdownPolicy, ...(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }) };
}

/**
 * Writes it into the claim, on condition of the version that has none.
 *
 * @returns the claim as it is then
 * @throws {RefusalError} if the API server does not want it so
 * @throws {Error} if it has not come through, or the claim is not the one any more that was chosen for
 */
export async function withDefaults(
  api: Api,
  entry: Entry,
  observed: SandboxClaim,
  pool: SandboxWarmPool,
): Promise<SandboxClaim> {
  const { namespace, name, uid } = observed.metadata;
  const path = pathOf({ resource: "sandboxclaims", namespace, name });
  let claim = observed;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const lifecycle = defaultLifecycle(claim, pool);
    if (!lifecycle) return claim;
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
    // Unless the watch has been faster.
    if (parsed && isSame && entry.claim === claim) Object.assign(entry, { claim: parsed, raw: answer.body });
    if (!parsed || !isSame) throw new Error(`Cannot ${action}: it has changed`);
    claim = parsed;
  }
  throw new Error(`Cannot set the lifecycle of SandboxClaim ${namespace}/${name}: it changes all the time`);
}
