/** What must hold once nothing happens any more. Reads the store, changes nothing. @module */
import { findByName, type MemoryStore, objectsOf } from "../../packages/testing/store/memory.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { DRAINING_LABEL, FOR_CLAIM_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../../packages/api/objects/objects.ts";
import { claimOf, readyOf, statusOf } from "./shown.ts";

/**
 * Lists what is wrong with the world at rest; empty: nothing.
 *
 * @param sick UIDs of Pods that failed or hang
 * @param hadTwoEngines of two Metacontrollers, the one that stops may write last what it saw of a Pod before that failed
 */
export function faultsAtRest(store: MemoryStore, sick: ReadonlySet<string>, hadTwoEngines: boolean): string[] {
  return [
    ...objectsOf(store, "SandboxClaim").flatMap((claim) => claimFaults(store, sick, claim)),
    ...objectsOf(store, "SandboxWarmPool").flatMap((pool) => poolFaults(store, pool)),
    ...hadTwoEngines ? [] : objectsOf(store, "Sandbox").flatMap((sandbox) => sandboxFaults(store, sandbox)),
    ...["Sandbox", "Pod", "SandboxClaim", "SandboxWarmPool"].flatMap((kind) => leftovers(store, kind)),
  ];
}

/** A claim has one Sandbox and says how that is; one that has expired has none, or is no more. */
function claimFaults(store: MemoryStore, sick: ReadonlySet<string>, claim: KubeObject): string[] {
  const { name, uid } = claim.metadata;
  const owned = objectsOf(store, "Sandbox").filter((sandbox) => claimOf(sandbox) === uid);
  const [sandbox] = owned;
  const ready = readyOf(claim);
  const shown = statusOf(claim).sandbox;
  if (ready?.reason === "ClaimExpired") {
    const { lifecycle } = claim["spec"] as { lifecycle: { shutdownPolicy: string } };
    if (lifecycle.shutdownPolicy !== "Retain") return [`claim ${name} has expired and is still there`];
    return owned.length > 0 || shown ? [`claim ${name} has expired and kept its Sandbox`] : [];
  }
  if (isForged(claim)) {
    return ready?.status === "False" ? [] : [`claim ${name} is Ready with labels that it may not ask for`];
  }
  if (!sandbox) return lonelyFaults(store, claim);
  if (owned.length > 1) return [`claim ${name} has ${owned.length} Sandboxes`];
  const { podIPs } = statusOf(sandbox) as { podIPs?: string[] };
  const expected = { name: sandbox.metadata.name, ...(podIPs ? { podIPs } : {}) };
  if (!sameJson(shown, expected)) {
    return [`claim ${name} shows ${JSON.stringify(shown)} of ${JSON.stringify(expected)}`];
  }
  const theirs = readyOf(sandbox);
  if (ready?.status !== theirs?.status || ready?.reason !== theirs?.reason) {
    return [`claim ${name} is ${ready?.status} ${ready?.reason}, its Sandbox ${theirs?.status} ${theirs?.reason}`];
  }
  const { operatingMode } = sandbox["spec"] as { operatingMode: string };
  if (operatingMode === "Suspended") {
    return ready?.reason === "SandboxSuspended" ? [] : [`claim ${name} is not suspended: ${ready?.reason}`];
  }
  const isSick = sick.has(findByName(store, "Pod", sandbox.metadata.name)?.metadata.uid ?? "");
  return ready?.status === "True" || isSick ? [] : [`claim ${name} is not Ready: ${ready?.reason} ${ready?.message}`];
}

function isForged({ spec }: KubeObject): boolean {
  return (spec as { additionalPodMetadata?: object }).additionalPodMetadata !== undefined;
}

/** Only a claim without a pool may be without a Sandbox, or one that showed how its Sandbox came to an end. */
function lonelyFaults(store: MemoryStore, claim: KubeObject): string[] {
  const ready = readyOf(claim);
  if (ready?.reason === "PodFailed") return [];
  const { name } = claim.metadata;
  if (findByName(store, "SandboxWarmPool", "pool")) {
    return [`claim ${name} has no Sandbox: ${JSON.stringify({ ...claim.metadata, status: claim["status"] })}`];
  }
  return ready?.status === "False" && !statusOf(claim).sandbox ? [] : [`claim ${name} shows what it has not`];
}

/** What a Sandbox says of a Pod that is no longer so would send requests into the void. */
function sandboxFaults(store: MemoryStore, sandbox: KubeObject): string[] {
  const { name } = sandbox.metadata;
  if (readyOf(sandbox)?.status !== "True" || readyOf(findByName(store, "Pod", name))?.status === "True") return [];
  return [`Sandbox ${name} says that it is Ready, and its Pod is not`];
}

function poolFaults(store: MemoryStore, pool: KubeObject): string[] {
  const { name, uid } = pool.metadata;
  const { replicas: wanted } = pool["spec"] as { replicas: number };
  const owned = objectsOf(store, "Sandbox").filter(({ metadata }) => controllerOf(metadata)?.uid === uid);
  const { replicas = 0, readyReplicas = 0 } = (pool["status"] ?? {}) as { replicas?: number; readyReplicas?: number };
  const isReady = owned.every((sandbox) => readyOf(sandbox)?.status === "True");
  const marked = owned.filter(({ metadata }) =>
    metadata.labels?.[DRAINING_LABEL] !== undefined || metadata.annotations?.[FOR_CLAIM_ANNOTATION] !== undefined
  );
  return [
    ...(owned.length === wanted ? [] : [`pool ${name} has ${owned.length} of ${wanted}`]),
    ...(replicas === wanted && readyReplicas === wanted
      ? []
      : [`pool ${name} says ${replicas}, ${readyReplicas} Ready`]),
    ...(isReady ? [] : [`pool ${name} has members that are not Ready`]),
    ...marked.map(({ metadata }) => `pool ${name} keeps ${metadata.name}, which is marked or made for a claim`),
  ];
}

/** Nothing is being deleted, and everything that should have an owner has one that lives. */
function leftovers(store: MemoryStore, kind: string): string[] {
  return objectsOf(store, kind).flatMap(({ metadata }) => {
    if (metadata.deletionTimestamp) return [`${kind} ${metadata.name} does not go`];
    if (kind !== "Sandbox" && kind !== "Pod") return [];
    const owner = controllerOf(metadata);
    const live = owner && findByName(store, owner.kind, owner.name);
    return live?.metadata.uid === owner?.uid && live ? [] : [`${kind} ${metadata.name} has no owner that lives`];
  });
}
