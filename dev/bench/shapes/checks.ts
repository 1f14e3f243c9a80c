/** Checks the invariants after any load, for every implementation: no Sandbox is shared, lost or left over. @module */
import type { Api } from "../../../packages/kube/api.ts";
import { controllerOf } from "../../../packages/api/objects/objects.ts";
import { listAll } from "../load/requests.ts";
import { type Followed, type Follower, followReady, isReady, keyOf } from "../load/follower.ts";
import { patienceFor, restingSandboxes, type RunContext, type Shape } from "./shape.ts";

/**
 * How long the garbage collector may take: at least `least` seconds, and longer if it has to delete more than
 * `perSecond` objects per second.
 */
const COLLECTION = { least: 120, perSecond: 20 };

/**
 * Records which claim names each Sandbox during the whole run: a Sandbox that has served one claim must never serve
 * another.
 */
export function createSharingCheck() {
  const servedBy = new Map<string, Set<string>>();
  return {
    observe({ metadata, status }: Followed): void {
      if (!status?.sandbox?.name) return;
      const sandbox = `${metadata.namespace}/${status.sandbox.name}`;
      servedBy.set(sandbox, (servedBy.get(sandbox) ?? new Set()).add(keyOf(metadata)));
    },
    faults: (): string[] =>
      [...servedBy].filter(([, claims]) => claims.size > 1)
        .map(([sandbox, claims]) => `Sandbox ${sandbox} was shared by claims ${[...claims].join(", ")}`),
  };
}

/** Reports how many objects did not become Ready in time. */
export function unreadyFaults(what: string, asked: number, ready: number): string[] {
  return ready >= asked
    ? []
    : [`${asked - ready} of ${asked} ${what} were not Ready after ${patienceFor({ count: asked })} s`];
}

/** Reports claims that name a Sandbox that does not exist or does not belong to them. */
export async function boundFaults(api: Api, claims: Follower): Promise<string[]> {
  const sandboxes = await listAll<Followed>(api, "sandboxes");
  return faultsOfClaims([...claims.objects.values()].filter(isReady), sandboxes);
}

/** Compares Ready claims with the existing Sandboxes. */
export function faultsOfClaims(claims: readonly Followed[], sandboxes: readonly Followed[]): string[] {
  const byKey = new Map(sandboxes.map((sandbox) => [keyOf(sandbox.metadata), sandbox]));
  return claims.flatMap(({ metadata, status }) => {
    const claim = keyOf(metadata);
    const sandbox = `${metadata.namespace}/${status?.sandbox?.name}`;
    const found = byKey.get(sandbox);
    if (!found) return [`Claim ${claim} lost its Sandbox ${sandbox}`];
    const owner = controllerOf(found.metadata);
    return owner?.uid === metadata.uid ? [] : [`Sandbox ${sandbox} of claim ${claim} is controlled by ${owner?.name}`];
  });
}

/** Waits until only the expected Sandboxes are left. If this takes too long, it reports how many there are. */
export async function leftoverFaults({ api, signal }: RunContext, shape: Shape): Promise<string[]> {
  const expected = restingSandboxes(shape);
  const patience = Math.max(COLLECTION.least, shape.count / COLLECTION.perSecond);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const isClean = await sandboxes.until(() => sandboxes.objects.size === expected, patience);
  return isClean ? [] : [`${sandboxes.objects.size} Sandboxes exist, but there should be ${expected}`];
}
