/**
 * Copies the default lifecycle of a pool into a claim that has none, before the claim gets its Sandbox. The claim itself then
 * shows when it expires. Source: Agent Sandbox, KEP-1306; docs/decisions/0047. @module
 */
import { type ClaimLifecycle, type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { lifecycleRefused } from "../api/claims/unserved.ts";
import { answerError, type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import type { Entry } from "./state.ts";
import { learn } from "./whole.ts";
import { isRefusal, RefusalError } from "./writes.ts";

const MOST_TRIES = 4;

/** Returns the lifecycle that the pool gives to this claim; undefined: none, or the claim has its own. A pool gives no absolute time. */
export function defaultLifecycle(claim: SandboxClaim, { spec }: SandboxWarmPool): ClaimLifecycle | undefined {
  const given = spec.claimDefaults?.lifecycle;
  if (!given || claim.spec.lifecycle) return undefined;
  const { ttlSecondsAfterFinished, shutdownPolicy } = given;
  return { shutdownPolicy, ...(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }) };
}

/**
 * Writes the default lifecycle into the claim, on condition that the claim still has the version that lacks one.
 *
 * @returns the claim as written
 * @throws {RefusalError} if the API server refuses the write
 * @throws {Error} if the write fails, or the claim has changed since a Sandbox was chosen for it
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
    if (parsed && isSame) learn(entry, answer.body as SandboxClaim);
    if (!parsed || !isSame) throw new Error(`Cannot ${action}: it has changed`);
    claim = parsed;
  }
  throw new Error(`Cannot set the lifecycle of SandboxClaim ${namespace}/${name}: it keeps changing`);
}
