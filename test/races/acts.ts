/** What users do in a run: claims, pools and templates come, change and go. @module */
import { deleteObject, findByName, type MemoryStore, objectsOf } from "../../packages/testing/store/memory.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { claimOf, statusOf } from "./shown.ts";
import { touch } from "./weather.ts";

/**
 * One thing that is done. `claim` is a number: of a new claim that in its name, else its place among those that exist, as
 * is `member`. An act without an object to act on does nothing.
 */
export type Act =
  | { act: "claim"; claim: number; cold?: boolean; expiresInMs?: number; policy?: string }
  | { act: "unclaim"; claim: number; foreground?: boolean }
  | { act: "reclaim"; claim: number; cold?: boolean }
  | { act: "scale"; replicas: number }
  | { act: "template"; version: number }
  | { act: "dropPool"; foreground?: boolean }
  | { act: "makePool"; replicas: number }
  | { act: "extend"; claim: number; byMs: number }
  | { act: "forge"; claim: number }
  | { act: "dropSandbox"; claim: number }
  | { act: "suspend"; claim: number; resume: boolean }
  | { act: "dropMember"; member: number }
  | { act: "evict"; member: number }
  | { act: "touch"; kind: "Sandbox" | "SandboxClaim" | "SandboxWarmPool"; member: number }
  | { act: "restartHook"; hook: string }
  | { act: "restartBinder"; overlap: boolean }
  | { act: "restartKeeper"; overlap: boolean }
  | { act: "restartEngine"; overlap: boolean };

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
/** Where everything happens. */
export const NAMESPACE = "ns";
const POOL = "pool";
const TEMPLATE = "template";
/** Labels that no claim may ask for: not of its domains, and one that hookbox itself sets. */
export const FORBIDDEN_LABELS = { "kubernetes.io/evil": "yes", "agents.x-k8s.io/claim-uid": "forged" };
const VOLUME = {
  metadata: { name: "work" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

/** Does one thing; restarts are the world's own business. */
export async function perform(store: MemoryStore, act: Act): Promise<void> {
  switch (act.act) {
    case "claim":
      return await makeClaim(store, `claim-${act.claim}`, act);
    case "unclaim":
      return await drop(store, claimAt(store, act.claim), act.foreground);
    case "reclaim":
      return await reclaim(store, act);
    case "scale":
      return await edit(store, findByName(store, "SandboxWarmPool", POOL), { replicas: act.replicas });
    case "template":
      return void await store.put(aTemplate(act.version, hasTemplateVolumes(store)));
    case "dropPool":
      return await drop(store, findByName(store, "SandboxWarmPool", POOL), act.foreground);
    case "makePool":
      if (!findByName(store, "SandboxWarmPool", POOL)) await store.put(aPool(act.replicas));
      return;
    case "extend":
      return await extend(store, nth(objectsOf(store, "SandboxClaim").filter(isMortal), act.claim), act.byMs);
    case "forge":
      return await edit(store, claimAt(store, act.claim), { additionalPodMetadata: { labels: FORBIDDEN_LABELS } });
    case "dropSandbox":
      return await drop(store, sandboxOf(store, act.claim));
    case "suspend":
      return await edit(store, sandboxOf(store, act.claim), { operatingMode: act.resume ? "Running" : "Suspended" });
    case "dropMember":
      return await drop(store, nth(members(store), act.member));
    case "evict":
      return await drop(store, nth(objectsOf(store, "Pod").filter(isAlive), act.member));
    case "touch":
      return await touch(store, nth(objectsOf(store, act.kind), act.member));
  }
}

/** The template, in a version that only the image tells. */
export function aTemplate(version: number, hasVolumes = false): KubeObject {
  const container = { name: "main", image: `image:${version}` };
  return object("SandboxTemplate", TEMPLATE, {
    podTemplate: { spec: { containers: [container] } },
    ...(hasVolumes && { volumeClaimTemplates: [VOLUME] }),
    envVarsInjectionPolicy: "Allowed",
    networkPolicyManagement: "Unmanaged",
  });
}

/** The pool, with the strategy that replaces what is stale. */
export function aPool(replicas: number): KubeObject {
  const updateStrategy = { type: "Recreate" };
  return object("SandboxWarmPool", POOL, { replicas, sandboxTemplateRef: { name: TEMPLATE }, updateStrategy });
}

function claimAt(store: MemoryStore, place: number): KubeObject | undefined {
  return nth(objectsOf(store, "SandboxClaim"), place);
}

async function reclaim(store: MemoryStore, { claim, cold }: { claim: number; cold?: boolean }): Promise<void> {
  const found = claimAt(store, claim);
  if (!found) return;
  await drop(store, found);
  await makeClaim(store, found.metadata.name, { ...(cold !== undefined && { cold }) });
}

async function makeClaim(
  store: MemoryStore,
  name: string,
  { cold, expiresInMs, policy }: { cold?: boolean; expiresInMs?: number; policy?: string },
): Promise<void> {
  if (findByName(store, "SandboxClaim", name)) return;
  const shutdownTime = new Date(store.clock.now() + (expiresInMs ?? 0)).toISOString();
  await store.put(object("SandboxClaim", name, {
    warmPoolRef: { name: POOL },
    ...(cold ? { env: [{ name: "WHO", value: name }] } : {}),
    ...(expiresInMs === undefined ? {} : { lifecycle: { shutdownTime, shutdownPolicy: policy } }),
  }));
}

function sandboxOf(store: MemoryStore, claim: number): KubeObject | undefined {
  const name = statusOf(claimAt(store, claim)).sandbox?.name;
  return name === undefined ? undefined : findByName(store, "Sandbox", name);
}

function members(store: MemoryStore): KubeObject[] {
  return objectsOf(store, "Sandbox").filter((sandbox) => claimOf(sandbox) === undefined);
}

function hasTemplateVolumes(store: MemoryStore): boolean {
  const { volumeClaimTemplates } = findByName(store, "SandboxTemplate", TEMPLATE)?.["spec"] as {
    volumeClaimTemplates?: unknown;
  };
  return volumeClaimTemplates !== undefined;
}

function isMortal({ spec }: KubeObject): boolean {
  return (spec as { lifecycle?: object }).lifecycle !== undefined;
}

/** Puts off the end of a claim that has one. */
async function extend(store: MemoryStore, claim: KubeObject | undefined, byMs: number): Promise<void> {
  const { lifecycle } = (claim?.["spec"] ?? {}) as { lifecycle?: object };
  const shutdownTime = new Date(store.clock.now() + byMs).toISOString();
  await edit(store, claim, { lifecycle: { ...lifecycle, shutdownTime } });
}

/** To delete a Pod that has ended is to want another one: that is a new beginning, not an eviction. */
function isAlive({ status }: KubeObject): boolean {
  return (status as { phase?: string } | undefined)?.phase !== "Failed";
}

function nth(objects: KubeObject[], index: number): KubeObject | undefined {
  return objects[index % Math.max(objects.length, 1)];
}

async function drop(store: MemoryStore, found: KubeObject | undefined, foreground = false): Promise<void> {
  if (found) await deleteObject(store, found, foreground ? "Foreground" : "Background");
}

async function edit(store: MemoryStore, found: KubeObject | undefined, change: object): Promise<void> {
  if (found) await store.put({ ...found, spec: { ...found["spec"] as object, ...change } });
}

function object(kind: string, name: string, spec: object): KubeObject {
  return { apiVersion: EXTENSIONS, kind, metadata: { name, namespace: NAMESPACE }, spec };
}
