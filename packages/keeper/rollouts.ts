/**
 * Makes a hook that was rolled out decide again about existing objects. Metacontroller calls a hook when an object
 * changes, and a rollout changes no object. So the keeper sets an annotation on each object that Metacontroller watches
 * for this hook, a few per second.
 * @module
 */
import { type Api, isOk, messageOf, type ObjectPath, pathOf } from "../kube/api.ts";
import { sleep } from "../kube/backoff.ts";
import { pagesOf } from "../kube/requests.ts";
import type { Collection } from "../kube/watch.ts";
import type { Log } from "../process/log.ts";
import { WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { extensionOwner } from "./readopt.ts";
import type { Reconciler } from "../kube/reconcilequeue.ts";

/** The objects to annotate for a hook. */
interface Asked {
  resource: ObjectPath["resource"];
  /** Selects objects; absent: all objects of the kind. */
  has?(object: ObjectMeta): boolean;
}

/**
 * What to annotate for each hook, by the label `app.kubernetes.io/name` of its Deployment: the hook's parents. For
 * claims, it is their Sandboxes: the keeper does not write to claims, and Metacontroller syncs a claim when its Sandbox
 * changes.
 */
const ASKED: Record<string, Asked> = {
  sandbox: { resource: "sandboxes" },
  sandboxclaim: { resource: "sandboxes", has: (sandbox) => extensionOwner(sandbox)?.kind === "SandboxClaim" },
  sandboxtemplate: { resource: "sandboxtemplates" },
  sandboxwarmpool: { resource: "sandboxwarmpools" },
};
/** Time for the last Pods of the old hook to finish their calls: they continue for three seconds (deploy/hooks). */
export const SETTLE_MS = 5000;
/** Objects that are annotated per second. */
const PER_SECOND = 20;

/** The fields of a Deployment that show a rollout. */
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
 * Returns when the last rollout of a Deployment ended, in milliseconds since the epoch; undefined: one is in progress.
 * The condition Progressing keeps that time until the next rollout, whatever happens to single Pods or to `replicas`.
 */
export function rolledAt({ status }: Deployment): number | undefined {
  const progressing = status?.conditions?.find(({ type }) => type === "Progressing");
  if (progressing?.reason !== "NewReplicaSetAvailable") return undefined;
  const time = Date.parse(progressing.lastUpdateTime ?? "");
  return Number.isNaN(time) ? undefined : time;
}

/**
 * Creates the reconciler for Deployments of hooks. Objects that an earlier keeper has annotated after the rollout are
 * left alone.
 */
export function rolloutReconciler(api: Api, log: Log, signal: AbortSignal): Reconciler<Deployment> {
  /** The rollout whose objects have been annotated, by UID of the Deployment. */
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
        // An object that cannot be changed must not keep the others from being annotated.
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

/** Lists the objects that are older than the rollout, and were not annotated after the last Pod of the old hook ended. */
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

/**
 * Annotates an object in whatever version it has now, unless its name belongs to a new object. Returns why the write
 * was refused; undefined: it was not.
 */
async function wake(api: Api, resource: ObjectPath["resource"], metadata: ObjectMeta): Promise<string | undefined> {
  const { namespace, name, uid } = metadata;
  const annotations = { [WOKEN_AT_ANNOTATION]: new Date().toISOString() };
  const body = { metadata: { uid, annotations } };
  const answer = await api.send({ method: "PATCH", path: pathOf({ resource, namespace, name }), body });
  return isOk(answer) || answer.status === 404 || answer.status === 409 ? undefined : messageOf(answer);
}
