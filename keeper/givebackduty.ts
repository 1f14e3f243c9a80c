/** Gives Sandboxes back to the pools and claims that they belong to, so that Metacontroller takes care of them. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { kubeObjectSchema } from "../lib/objects.ts";
import type { Api } from "../kube/api.ts";
import type { Duty } from "./duty.ts";
import type { Sink } from "../kube/watch.ts";
import { findObject } from "./findobject.ts";
import { type ClaimReturn, claimReturn, orphanOf, poolChange } from "./giveback.ts";
import { type MetadataChange, patchOf, sendPatch } from "../kube/patch.ts";
import type { PoolFacts, References } from "./references.ts";
import type { Report } from "./report.ts";
import { createWaiting } from "./waiting.ts";

interface GiveBackOptions {
  api: Api;
  report: Report;
  references: References;
}

/** Makes the duty. A Sandbox that one of our hooks has made costs no request. */
export function giveBackDuty({ api, report, references: { pools } }: GiveBackOptions): Duty<Sandbox> {
  /** What was dealt with: the resourceVersion, and the pool. */
  const memory = new Map<string, string>();
  const poolOf = (sandbox: Sandbox) => findPool(sandbox, pools.all());
  const planOf = (sandbox: Sandbox): MetadataChange | ClaimReturn | undefined => {
    const pool = poolOf(sandbox);
    return pool ? poolChange(sandbox.metadata, pool) : claimReturn(sandbox);
  };
  const stateOf = (sandbox: Sandbox) => `${sandbox.metadata.resourceVersion} ${poolOf(sandbox)?.uid}`;
  return {
    name: "giving back",
    memory,
    dueAt(sandbox, now) {
      if (!planOf(sandbox) || memory.get(sandbox.metadata.uid ?? "") === stateOf(sandbox)) return undefined;
      return now;
    },
    async act(sandbox) {
      const { metadata } = sandbox;
      const plan = planOf(sandbox);
      const state = stateOf(sandbox);
      const change = plan && "owner" in plan ? await confirmed(api, sandbox, plan) : plan;
      const target = { kind: "Sandbox", resource: "sandboxes", metadata } as const;
      const isGiven = change && await sendPatch(api, target, patchOf(metadata, change));
      memory.set(metadata.uid ?? "", state);
      if (isGiven) report("adopted", metadata, { kind: "Sandbox", child: metadata.name });
    },
  };
}

/** Returns the sink of the duty's queue that sees orphans again when pools come and go. */
export function withPools(queue: Sink<Sandbox>, { pools }: References): Sink<Sandbox> {
  const keyOf = (namespace: string | undefined, hash: string) => `${namespace}/${hash}`;
  const waiting = createWaiting(queue, (sandbox: Sandbox) => {
    const hash = orphanOf(sandbox);
    return hash === undefined ? undefined : keyOf(sandbox.metadata.namespace, hash);
  });
  pools.onChange((pool) => waiting.again(pool && keyOf(pool.namespace, pool.hash)));
  return waiting;
}

function findPool(sandbox: Sandbox, pools: Iterable<PoolFacts>): PoolFacts | undefined {
  const hash = orphanOf(sandbox);
  if (hash === undefined) return undefined;
  const isItsPool = (pool: PoolFacts) =>
    pool.namespace === sandbox.metadata.namespace && pool.hash === hash && !pool.isBeingDeleted;
  return [...pools].find(isItsPool);
}

/** Asks for the claim: the Sandbox of one that is gone, or going, is the garbage collector's. */
async function confirmed(
  api: Api,
  sandbox: Sandbox,
  { owner, change }: ClaimReturn,
): Promise<MetadataChange | undefined> {
  const { namespace } = sandbox.metadata;
  const claim = await findObject(api, { resource: "sandboxclaims", namespace, name: owner.name }, kubeObjectSchema);
  const isAlive = claim?.metadata.uid === owner.uid && claim.metadata.deletionTimestamp === undefined;
  return isAlive ? change : undefined;
}
