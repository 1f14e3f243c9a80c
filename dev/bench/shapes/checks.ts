/** What must hold after any load, whoever runs the API: nothing shared, nothing lost, nothing left over. @module */
import type { Api } from "../../../packages/kube/api.ts";
import { controllerOf } from "../../../packages/api/objects/objects.ts";
import { listAll } from "../load/ask.ts";
import { type Followed, type Follower, followReady, isReady, keyOf } from "../load/follower.ts";
import type { Arena } from "./arena.ts";
import { patienceFor } from "./ground.ts";
import { restingSandboxes, type Shape } from "./shape.ts";

/** How long the garbage collector may take, seconds, and how many objects it ends in each at least. */
const COLLECTION = { least: 120, perSecond: 20 };

/** Notes which claim each Sandbox is shown by, over the whole run: a Sandbox that has served one never serves another. */
export function createSharingCheck() {
  const servedBy = new Map<string, Set<string>>();
  return {
    look({ metadata, status }: Followed): void {
      if (!status?.sandbox?.name) return;
      const sandbox = `${metadata.namespace}/${status.sandbox.name}`;
      servedBy.set(sandbox, (servedBy.get(sandbox) ?? new Set()).add(keyOf(metadata)));
    },
    faults: (): string[] =>
      [...servedBy].filter(([, claims]) => claims.size > 1)
        .map(([sandbox, claims]) => `Sandbox ${sandbox} was shared by claims ${[...claims].join(", ")}`),
  };
}

/** Says how many did not become Ready in time. */
export function unreadyFaults(what: string, asked: number, ready: number): string[] {
  return ready >= asked
    ? []
    : [`${asked - ready} of ${asked} ${what} were not Ready after ${patienceFor({ count: asked })} s`];
}

/** Says which claims show a Sandbox that is not there or not theirs. */
export async function boundFaults(api: Api, claims: Follower): Promise<string[]> {
  const sandboxes = await listAll<Followed>(api, "sandboxes");
  return faultsOfClaims([...claims.objects.values()].filter(isReady), sandboxes);
}

/** Judges Ready claims against the Sandboxes that are there. */
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

/** Waits until no more Sandboxes are left than should be, and says how many there are if that does not come. */
export async function leftoverFaults({ api, signal }: Arena, shape: Shape): Promise<string[]> {
  const expected = restingSandboxes(shape);
  const patience = Math.max(COLLECTION.least, shape.count / COLLECTION.perSecond);
  const sandboxes = await followReady(api, "sandboxes", signal);
  const settled = await sandboxes.until(() => sandboxes.objects.size === expected, patience);
  return settled ? [] : [`${sandboxes.objects.size} Sandboxes are there where ${expected} should be`];
}
