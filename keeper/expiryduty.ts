/** Deletes what has expired, each object with the preconditions that make it the very one that was judged. @module */
import type { LossBudget } from "../lib/lossbudget.ts";
import type { ObjectMeta } from "../lib/objects.ts";
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "../kube/api.ts";
import type { Duty } from "./duty.ts";
import type { ExpiryVerdict } from "./expiry.ts";
import type { Report } from "./report.ts";

/** A kind whose objects expire. */
export interface ExpiringKind<T> {
  kind: string;
  resource: ObjectPath["resource"];
  judge(object: T, now: number): ExpiryVerdict;
}

/** What is too much for the budget is tried again so much later. */
const AGAIN_MS = 5000;

/** What was done about an object last. */
interface Done {
  /** The version that was dealt with. */
  resourceVersion?: string | undefined;
  /** It was to be deleted, and stays until then. */
  putOffUntil?: number;
}

/**
 * Makes the duty. Idempotent: whatever part of it a dead process has done, a new one finds and finishes the rest.
 *
 * @param budget how much may be deleted: hook and keeper may share a clock that is wrong, and volumes go with a Sandbox
 */
export function expiryDuty<T extends { metadata: ObjectMeta }>(
  api: Api,
  report: Report,
  budget: LossBudget,
  { kind, resource, judge }: ExpiringKind<T>,
): Duty<T> {
  const memory = new Map<string, Done>();
  return {
    name: `expiry of ${kind}`,
    memory,
    dueAt(object, now) {
      const { uid = "", resourceVersion } = object.metadata;
      const decision = judge(object, now);
      const done = memory.get(uid);
      if (decision.verdict === "keep" || (done && done.resourceVersion === resourceVersion)) return undefined;
      return decision.verdict === "wait" ? decision.until : done?.putOffUntil ?? now;
    },
    async act(object, now) {
      const decision = judge(object, now);
      if (decision.verdict !== "delete") return;
      const { namespace = "", name, uid = "", resourceVersion } = object.metadata;
      if (budget.spend(namespace, [uid]).has(uid)) {
        if (!memory.get(uid)?.putOffUntil) report("deletion put off", object.metadata, {});
        memory.set(uid, { putOffUntil: now + AGAIN_MS });
        return;
      }
      const path = pathOf({ resource, namespace, name });
      const body = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid, resourceVersion },
        propagationPolicy: decision.propagation,
      };
      const answer = await api.send({ method: "DELETE", path, body });
      const isSettled = isOk(answer) || answer.status === 404;
      // 409: it has changed since; the watch brings the new version, which is judged afresh.
      if (!isSettled && answer.status !== 409) throw answerError(`delete expired ${kind} ${namespace}/${name}`, answer);
      memory.set(uid, { resourceVersion });
      if (isOk(answer)) report("deleted", object.metadata, { propagation: decision.propagation });
    },
  };
}
