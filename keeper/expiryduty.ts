/** Deletes Sandboxes that have expired, each with the preconditions that make it the very one that was judged. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { answerError, type Api, isOk, pathOf } from "./api.ts";
import type { Duty } from "./duty.ts";
import { expiryVerdict } from "./expiry.ts";
import type { Report } from "./report.ts";

/** Makes the duty. Idempotent: whatever part of it a dead process has done, a new one finds and finishes the rest. */
export function expiryDuty(api: Api, report: Report): Duty<Sandbox> {
  /** The resourceVersion that was dealt with. */
  const memory = new Map<string, string | undefined>();
  return {
    name: "expiry",
    memory,
    dueAt(sandbox, now) {
      const { uid = "", resourceVersion } = sandbox.metadata;
      const decision = expiryVerdict(sandbox, now);
      if (decision.verdict === "keep" || memory.get(uid) === resourceVersion) return undefined;
      return decision.verdict === "wait" ? decision.until : now;
    },
    async act({ metadata }) {
      const { namespace, name, uid, resourceVersion } = metadata;
      const path = pathOf({ resource: "sandboxes", namespace, name });
      const body = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid, resourceVersion },
        propagationPolicy: "Background",
      };
      const answer = await api.send({ method: "DELETE", path, body });
      const isSettled = isOk(answer) || answer.status === 404;
      // 409: it has changed since; the watch brings the new version, which is judged afresh.
      if (!isSettled && answer.status !== 409) throw answerError(`delete expired Sandbox ${namespace}/${name}`, answer);
      memory.set(uid ?? "", resourceVersion);
      if (isOk(answer)) report("deleted", metadata, {});
    },
  };
}
