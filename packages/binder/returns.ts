/**
 * Marks members that a restore of etcd put back into their pool, although a claim may have had them. The mark is the
 * label of a claim; the pool deletes members that have it. Only this process knows about the restore, so the mark must
 * outlive the process.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import { answerError, type Api, isOk, pathOf } from "../kube/api.ts";
import { backoffMs } from "../kube/backoff.ts";
import { createWorkQueue } from "../kube/workqueue.ts";
import type { Clock } from "../process/clock.ts";
import { CLAIM_UID_LABEL } from "../api/objects/keys.ts";
import { errorFields, type Log } from "../process/log.ts";

/** Value of the label. It is not known which claim had the Sandbox. */
export const RETURNED = "returned";

/** Sandboxes that are marked at the same time. */
const MOST_AT_ONCE = 4;

/**
 * Creates the function that marks a Sandbox. It writes the Sandbox as observed, not parsed, on condition of its
 * version, and retries writes that fail. If the Sandbox has changed, the watch shows it again, and it is marked then.
 */
export function createReturns(api: Api, log: Log, clock: Clock): (sandbox: Sandbox) => void {
  const turns = createWorkQueue(MOST_AT_ONCE);
  function mark(sandbox: Sandbox, failures: number): void {
    const { namespace = "", name, uid = "" } = sandbox.metadata;
    turns.add(namespace, uid, async () => {
      try {
        await putMark(api, sandbox);
      } catch (error) {
        log("warn", "Cannot mark a member that a restore of etcd put back into its pool", {
          namespace,
          name,
          uid,
          ...errorFields(error),
        });
        clock.setTimeout(() => mark(sandbox, failures + 1), backoffMs(failures));
      }
    });
  }
  return (sandbox) => {
    const { namespace, name, uid } = sandbox.metadata;
    log("warn", "Withheld a member that a claim may have had: etcd was restored", { namespace, name, uid });
    mark(sandbox, 0);
  };
}

async function putMark(api: Api, sandbox: Sandbox): Promise<void> {
  const { namespace, name, labels } = sandbox.metadata;
  const metadata = { ...sandbox.metadata, labels: { ...labels, [CLAIM_UID_LABEL]: RETURNED } };
  const path = pathOf({ resource: "sandboxes", namespace, name });
  const answer = await api.send({ method: "PUT", path, body: { ...sandbox, metadata } });
  if (isOk(answer) || answer.status === 404 || answer.status === 409) return;
  throw answerError(`mark Sandbox ${namespace}/${name}`, answer);
}
