/** Templates, pools and claims for the integration suite, and what tests ask about them. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { condition, type Loose, type Namespace, ON_SIMULATED_NODES, sleeper } from "./namespace.ts";

const API = "extensions.agents.x-k8s.io/v1beta1";

/** Makes a template of a busybox that sleeps. */
export function aTemplate(name: string, spec: Loose = {}, podSpec: Loose = {}): Loose {
  const { podTemplate } = sleeper(name, spec, podSpec).spec;
  return { apiVersion: API, kind: "SandboxTemplate", metadata: { name }, spec: { ...spec, podTemplate } };
}

/** Makes a template whose Pods run on simulated nodes, for tests that want many. */
export function aSimulatedTemplate(name: string, spec: Loose = {}): Loose {
  return aTemplate(name, spec, ON_SIMULATED_NODES);
}

export function aPool(name: string, replicas: number, template = name, spec: Loose = {}): Loose {
  const sandboxTemplateRef = { name: template };
  return {
    apiVersion: API,
    kind: "SandboxWarmPool",
    metadata: { name },
    spec: { replicas, sandboxTemplateRef, ...spec },
  };
}

export function aClaim(name: string, pool: string, spec: Loose = {}, metadata: Loose = {}): Loose {
  const warmPoolRef = { name: pool };
  return { apiVersion: API, kind: "SandboxClaim", metadata: { name, ...metadata }, spec: { warmPoolRef, ...spec } };
}

/**
 * Waits until the pool has just as many Sandboxes as it should, all Ready, by its status and by themselves: the status
 * may still count what was bound a moment ago, and a member that binder and pool made both is on its way out.
 */
export async function untilFull(ns: Namespace, pool: string): Promise<Loose> {
  for (;;) {
    const full = await ns.until("sandboxwarmpool", pool, ({ spec, status }) => {
      return (status?.readyReplicas ?? 0) === spec.replicas && (status?.replicas ?? 0) === spec.replicas;
    });
    const members = (await ns.list("sandbox")).filter((sandbox) => {
      const owner = controllerOf(sandbox);
      return owner?.kind === "SandboxWarmPool" && owner.name === pool;
    });
    const isReady = members.every((sandbox) => condition(sandbox, "Ready")?.status === "True");
    if (members.length === full.spec.replicas && isReady) return full;
    await sleep(200);
  }
}

/** Waits until the claim's Ready condition is True, or has the given reason. */
export async function untilReady(ns: Namespace, claim: string, reason?: string): Promise<Loose> {
  return await ns.until("sandboxclaim", claim, (object) => {
    const ready = condition(object, "Ready");
    return reason === undefined ? ready?.status === "True" : ready?.reason === reason;
  });
}

/** Returns the object that controls another. */
export function controllerOf(object: Loose): { kind: string; name: string; uid: string } | undefined {
  return object.metadata.ownerReferences?.find((owner: Loose) => owner.controller);
}
