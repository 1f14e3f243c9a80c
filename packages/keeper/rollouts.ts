/**
 * Has what exists decided anew once a hook was rolled: Metacontroller asks a hook when something changes, and a rollout
 * changes nothing that it watches. Every parent of that hook is woken once, a few in a second. @module
 */
import { type Api, isOk, messageOf, type ObjectPath, pathOf } from "../kube/api.ts";
import { sleep } from "../kube/backoff.ts";
import { pagesOf } from "../kube/pages.ts";
import type { Collection } from "../kube/watch.ts";
import type { Log } from "../process/log.ts";
import { WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler } from "./reconciler.ts";

/** The parents of each hook, by the label `app.kubernetes.io/name` of its Deployment. */
const PARENTS: Record<string, ObjectPath["resource"]> = {
  sandbox: "sandboxes",
  sandboxclaim: "sandboxclaims",
  sandboxtemplate: "sandboxtemplates",
  sandboxwarmpool: "sandboxwarmpools",
};
/** Time for the last Pods of the old hook to answer what they have been asked: they go on for three seconds (deploy/hooks). */
const SETTLE_MS = 5000;
/** Parents that are woken in a second. */
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

/** Makes the reconciler for Deployments of hooks. What a keeper before this one has woken is not woken again. */
export function rolloutReconciler(api: Api, log: Log, signal: AbortSignal): Reconciler<Deployment> {
  /** The rollout whose parents have been woken. */
  const memory = new Map<string, number>();
  return {
    name: "rollouts of hooks",
    memory,
    dueAt(deployment) {
      const at = rolledAt(deployment);
      const isDone = at === undefined || memory.get(deployment.metadata.uid ?? "") === at;
      return isDone || resourceOf(deployment) === undefined ? undefined : at + SETTLE_MS;
    },
    async reconcile(deployment) {
      const at = rolledAt(deployment);
      const resource = resourceOf(deployment);
      if (at === undefined || resource === undefined) return;
      const waiting = await parentsSince(api, resource, at);
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

function resourceOf({ metadata: { labels = {} } }: Deployment): ObjectPath["resource"] | undefined {
  return PARENTS[labels["app.kubernetes.io/name"] ?? ""];
}

/** Lists what the hook has not been asked about since, for all that is known: what is older, and was not woken after it. */
async function parentsSince(api: Api, resource: ObjectPath["resource"], at: number): Promise<ObjectMeta[]> {
  const found: ObjectMeta[] = [];
  for await (const { items } of pagesOf<{ metadata: ObjectMeta }>(api, pathOf({ resource }))) {
    for (
      const { metadata: { namespace, name, uid, creationTimestamp = "", deletionTimestamp, annotations } } of items
    ) {
      const isOlder = !(Date.parse(creationTimestamp) >= at);
      const isWoken = Date.parse(annotations?.[WOKEN_AT_ANNOTATION] ?? "") >= at;
      if (isOlder && !isWoken && deletionTimestamp === undefined) found.push({ namespace, name, uid });
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
