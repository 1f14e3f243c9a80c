/** Deletes the NetworkPolicy of a deleted template when no sandbox needs it any more. @module */
import { selectedHash } from "../api/templatepolicy.ts";
import { answerError, type Api, isOk, pathOf } from "../kube/api.ts";
import { isAnyLabelled } from "../kube/requests.ts";
import type { EventHandler } from "../kube/watch.ts";
import type { Clock } from "../process/clock.ts";
import { DECORATOR_ANNOTATION, TEMPLATE_CONTROLLER, TEMPLATE_REF_HASH_LABEL } from "../api/objects/keys.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { type Intervals, lookReconciler, type Report } from "./reconciler.ts";
import { hashKey, type References } from "./references.ts";
import { createWaiting, requeueOnChange } from "./watches.ts";
import type { ReconcileQueue, Reconciler } from "../kube/reconcilequeue.ts";

/** After `settle`, pools and claims have finished their work for a deleted template. In milliseconds. */
const DELETION_INTERVALS: Intervals = { settle: 3000, problem: 30_000, calm: 300_000 };

interface PolicyDeletionOptions {
  api: Api;
  report: Report;
  references: Pick<References, "templates">;
  clock?: Clock | undefined;
}

/**
 * Creates the reconciler. It sends no request for a policy whose template exists, and two or three in five minutes for
 * any other.
 */
export function policyDeletionReconciler(
  { api, report, references, clock }: PolicyDeletionOptions,
): Reconciler<KubeObject> {
  const { templates } = references;
  return lookReconciler({
    name: "left policies",
    intervals: DELETION_INTERVALS,
    clock,
    situationOf(policy: KubeObject) {
      const hash = leftHash(policy);
      if (hash === undefined || !templates.hasSynced()) return undefined;
      const [template] = templates.byIndex("hash", hashKey(policy.metadata.namespace, hash));
      return template ? undefined : { key: policy.metadata.uid ?? "", kind: "look" };
    },
    async look(policy) {
      const hash = leftHash(policy) ?? "";
      if (await isNeeded(api, policy, hash)) return "coming";
      const { uid, namespace, name, resourceVersion } = policy.metadata;
      const path = pathOf({ resource: "networkpolicies", namespace, name });
      // A new template of the same name may have taken over the policy since the check.
      const body = { preconditions: { uid, resourceVersion } };
      const answer = await api.send({ method: "DELETE", path, body });
      if (answer.status === 404 || answer.status === 409) return "coming";
      if (!isOk(answer)) throw answerError(`delete NetworkPolicy ${namespace}/${name}`, answer);
      report("deleted", policy.metadata, { kind: "NetworkPolicy" });
      return "nothing";
    },
  });
}

/** Returns the event handler of the reconciler's queue. It requeues policies when their template is created or deleted. */
export function withTemplates(
  queue: ReconcileQueue<KubeObject>,
  { templates }: Pick<References, "templates">,
): EventHandler<KubeObject> {
  const waiting = createWaiting(queue, (policy: KubeObject) => {
    const hash = leftHash(policy);
    return hash === undefined ? undefined : hashKey(policy.metadata.namespace, hash);
  });
  requeueOnChange(waiting, templates, ({ namespace, hash }) => hashKey(namespace, hash));
  return waiting;
}

/**
 * Returns the hash of the template for which the hook created a policy; undefined if the hook did not, or the policy is
 * being deleted.
 */
function leftHash(policy: KubeObject): string | undefined {
  const { deletionTimestamp, annotations } = policy.metadata;
  const isOurs = deletionTimestamp === undefined && annotations?.[DECORATOR_ANNOTATION] === TEMPLATE_CONTROLLER;
  return isOurs ? selectedHash(policy) : undefined;
}

/**
 * Returns whether a Pod has the template's hash, or a Sandbox, which may get a Pod. Asks the API server, because a
 * watch can lag.
 */
async function isNeeded(api: Api, { metadata: { namespace } }: KubeObject, hash: string): Promise<boolean> {
  const selector = `${TEMPLATE_REF_HASH_LABEL}=${hash}`;
  return await isAnyLabelled(api, { resource: "pods", namespace }, selector) ||
    await isAnyLabelled(api, { resource: "sandboxes", namespace }, selector);
}
