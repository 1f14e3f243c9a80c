/** Reads the state of pools, and how well they have served claims. @module */
import { findCondition } from "../../api/objects/conditions.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import type { PodFact } from "../../api/diagnosis/facts.ts";
import { NAME_HASH_LABEL } from "../../api/objects/keys.ts";
import { type Api, pathOf } from "../../kube/api.ts";
import { CLAIM, POOL, SANDBOX } from "../../summary/kinds.ts";
import { byPool, type PoolObjects, type ServedCounts, servedInHour } from "../../summary/pools.ts";
import { getObject, listObjects } from "../cluster.ts";

/** One pool. */
export interface PoolRow {
  namespace: string;
  name: string;
  ready: number;
  desired: number;
  /** Number of claims without a Sandbox. */
  waiting: number;
  /** Claims of the last hour that got a Sandbox, as far as they still exist. */
  served: ServedCounts;
  /** Share of these claims that got a Sandbox of the pool, 0 to 1. Undefined if there were none, or it is not known. */
  hitRate: number | undefined;
  /** RFC 3339. */
  createdAt: string | undefined;
  /** Why it has fewer Ready Sandboxes than it should; undefined if it has enough. */
  notFull: string | undefined;
}

/**
 * Reads the pools of a namespace, or of all namespaces if undefined. With `name`, reads one pool.
 *
 * @throws {SandboxError} if there is no such pool, or one of the lists cannot be read
 */
export async function poolStatus(
  api: Api,
  namespace: string | undefined,
  name?: string,
  now: Date = new Date(),
): Promise<PoolRow[]> {
  return (await readPools(api, namespace, name)).map((objects) => rowOf(objects, now));
}

/** Reads pools with their claims and Sandboxes, and with Pods if asked. @throws {SandboxError} as {@link poolStatus} */
export async function readPools(
  api: Api,
  namespace: string | undefined,
  name?: string,
  withPods = false,
): Promise<PoolObjects[]> {
  const pools = name === undefined
    ? listObjects(api, POOL, { namespace })
    : getObject(api, POOL, namespace ?? "default", name).then((pool) => [pool]);
  const lists: Promise<KubeObject[]>[] = [
    pools,
    listObjects(api, CLAIM, { namespace }),
    listObjects(api, SANDBOX, { namespace }),
  ];
  const [[found = [], claims = [], sandboxes = []], pods] = await Promise.all([
    Promise.all(lists),
    withPods ? listPods(api, namespace) : [],
  ]);
  // Not validated again: the API server has validated the objects.
  return byPool(found as SandboxWarmPool[], claims as SandboxClaim[], sandboxes as Sandbox[], pods);
}

/** Lists the Pods of sandboxes; none if they cannot be read. */
async function listPods(api: Api, namespace: string | undefined): Promise<PodFact[]> {
  const request = { path: pathOf({ resource: "pods", namespace }), query: { labelSelector: NAME_HASH_LABEL } };
  const answer = await api.send({ method: "GET", ...request }).catch(() => undefined);
  return answer?.status === 200 ? (answer.body as { items: PodFact[] }).items : [];
}

function rowOf(objects: PoolObjects, now: Date): PoolRow {
  const { pool: { metadata, spec, status }, claims } = objects;
  const served = servedInHour(objects, now.getTime());
  const known = served.warm + served.cold;
  const ready = status?.readyReplicas ?? 0;
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    ready,
    desired: spec.replicas,
    waiting: claims.filter(({ isWaiting }) => isWaiting).length,
    served,
    hitRate: known === 0 ? undefined : served.warm / known,
    createdAt: metadata.creationTimestamp,
    notFull: ready >= spec.replicas ? undefined : whyNotFull(status),
  };
}

function whyNotFull(status: SandboxWarmPool["status"]): string {
  const progressing = findCondition(status?.conditions, "Progressing");
  return progressing ? `${progressing.reason}: ${progressing.message}` : "the hook has not reconciled the pool yet";
}
