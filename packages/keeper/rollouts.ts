/**
 * Has a hook that was rolled out decide anew about what exists: Metacontroller asks a hook when an object changes, and a
 * rollout changes none. The keeper sets an annotation on each object that Metacontroller watches for this hook, a few in a
 * second. @module
 */
import { type Api, isOk, messageOf, type ObjectPath, pathOf } from "../kube/api.ts";
import { sleep } from "../kube/backoff.ts";
import { pagesOf } from "../kube/pages.ts";
import type { Collection } from "../kube/watch.ts";
import type { Log } from "../process/log.ts";
import { WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { extensionOwner } from "./readopt.ts";
import type { Reconciler } from "./reconciler.ts";

/** What is annotated for a hook. */
interface Asked {
  resource: ObjectPath["resource"];
  /** Selects objects; absent: all objects of the kind. */
  has?(object: ObjectMeta): boolean;
}

/**
 * What is annotated for each hook, by the label `app.kubernetes.io/name` of its Deployment: its parents. For claims, it is
 * the Sandboxes that they have: the keeper writes to no claim, and Metacontroller asks about a claim when its Sandbox changes.
 */
const ASKED: Record<string, Asked> = {
  sandbox: { resource: "sandboxes" },
  sandboxclaim: { resource: "sandboxes", has: (sandbox) => extensionOwner(sandbox)?.kind === "SandboxClaim" },
  sandboxtemplate: { resource: "sandboxtemplates" },
  sandboxwarmpool: { resource: "sandboxwarmpools" },
};
/** Time for the last Pods of the old hook to answer what they have been asked: they go on for three seconds (deploy/hooks). */
export const SETTLE_MS = 5000;
/** Objects that are annotated in a second. */
const PER_SECOND = 20;

/** A Deployment, as far as a rollout shows in it. */
export interface Deployment {
  metadata: ObjectMeta;
  status?: { conditions?: { type: string; reason?: string; lastUpdateTime?: string }[] };
}

/** The Deployments of hooks in the keeper's namespace. */
export function hookDeployments(namespace: string): Collection<Deployment> {
  return {
    path: pathOf({ resource: "deployments", namespace }),
    query: { labelSelector: "app.kubernetes.io/part-of=hookbox,app.kubernetes.io/component=hook" },
    parse: (object) => object as Deployment,
  };
}

/**
 * Tells when the last rollout of a Deployment had ended, in milliseconds since the epoch; undefined: one is under way.
 *
 * The condition Progressing keeps that time until the next rollout, whatever becomes of single Pods or of `replicas`.
 */
export function rolledAt({ status }: Deployment): number | undefined {
  const progressing = status?.conditions?.find(({ type }) => type === "Progressing");
  if (progressing?.reason !== "NewReplicaSetAvailable") return undefined;
  const time = Date.parse(progressing.lastUpdateTime ?? "");
  return Number.isNaN(time) ? undefined : time;
}

/** Makes the reconciler for Deployments of hooks. What an earlier keeper has annotated after the rollout is left alone. */
export function rolloutReconciler(api: Api, log: Log, signal: AbortSignal): Reconciler<Deployment> {
  /** The rollout whose objects have been annotated. */
  const memory = new Map<string, number>();
  return {
    name: "rollouts of hooks",
    memory,
    dueAt(deployment) {
      const at = rolledAt(deployment);
      const isDone = at === undefined || memory.get(deployment.metadata.uid ?? "") === at;
      return isDone || askedOf(deployment) === undefined ? undefined : at + SETTLE_MS;
    },
    async reconcile(deployment) {
      const at = rolledAt(deployment);
      const asked = askedOf(deployment);
      if (at === undefined || asked === undefined) return;
      const { resource } = asked;
      const waiting = await notAskedSince(api, asked, at);
      if (waiting.length > 0) {
        log("info", "Hook was rolled out: asking it about what exists", { resource, count: waiting.length });
      }
      for (const metadata of waiting) {
        if (signal.aborted) return;
        const refusal = await wake(api, resource, metadata);
        // One that cannot be changed is not to keep the rest from being asked about.
        if (refusal !== undefined) log("warn", `Cannot wake an object of ${resource}: ${refusal}`, { ...metadata });
        await sleep(1000 / PER_SECOND, signal);
      }
      memory.set(deployment.metadata.uid ?? "", at);
    },
  };
}

function askedOf({ metadata: { labels = {} } }: Deployment): Asked | undefined {
  return ASKED[labels["app.kubernetes.io/name"] ?? ""];
}

/** Lists what is older than the rollout, and was not annotated after the last Pod of the old hook had gone. */
async function notAskedSince(
  api: Api,
  { resource, has = () => true }: Asked,
  at: number,
): Promise<ObjectMeta[]> {
  const found: ObjectMeta[] = [];
  for await (const { items } of pagesOf<{ metadata: ObjectMeta }>(api, pathOf({ resource }))) {
    for (const { metadata } of items) {
      const { namespace, name, uid, creationTimestamp = "", deletionTimestamp, annotations } = metadata;
      const isOlder = !(Date.parse(creationTimestamp) >= at);
      const isWoken = Date.parse(annotations?.[WOKEN_AT_ANNOTATION] ?? "") >= at + SETTLE_MS;
      if (isOlder && !isWoken && deletionTimestamp === undefined && has(metadata)) found.push({ namespace, name, uid });
    }
  }
  return found;
}

/** Wakes an object whatever has become of it meanwhile, unless it is another of the name. Returns why it could not be. */
async function wake(api: Api, resource: ObjectPath["resource"], metadata: ObjectMeta): Promise<string | undefined> {
  const { namespace, name, uid } = metadata;
  const annotations = { [WOKEN_AT_ANNOTATION]: new Date().toISOString() };
  const body = { metadata: { uid, annotations } };
  const answer = await api.send({ method: "PATCH", path: pathOf({ resource, namespace, name }), body });
  return isOk(answer) || answer.status === 404 || answer.status === 409 ? undefined : messageOf(answer);
}
