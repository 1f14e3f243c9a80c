/**
 * Marks members that a restore of etcd has given back to their pool, though a claim may have had them: with the label of a
 * claim, by which the pool destroys them. The mark outlives this process, which alone knows. Decides nothing.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import { answerError, type Api, isOk, pathOf } from "../kube/api.ts";
import { backoffMs } from "../kube/backoff.ts";
import { createTurns } from "../kube/turns.ts";
import type { Clock } from "../process/clock.ts";
import { CLAIM_UID_LABEL } from "../api/objects/keys.ts";
import { errorFields, type Log } from "../process/log.ts";

/** Value of the label where nobody knows which claim it was. */
export const RETURNED = "returned";

/** Sandboxes that are marked at once. */
const MOST_AT_ONCE = 4;

/**
 * Makes what marks a Sandbox, as it was observed untouched by a parser, on condition of its version, and tries again what
 * fails. One that has changed is shown again, and then marked as it is.
 */
export function createReturns(api: Api, log: Log, clock: Clock): (sandbox: Sandbox) => void {
  const turns = createTurns(MOST_AT_ONCE);
  function mark(sandbox: Sandbox, failures: number): void {
    const { namespace = "", name, uid = "" } = sandbox.metadata;
    turns.add(namespace, uid, async () => {
      try {
        await putMark(api, sandbox);
      } catch (error) {
        log("warn", "Cannot mark a member that a restore has given back", {
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
    log("warn", "A member is older than it was: etcd was restored. No claim gets it", { namespace, name, uid });
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
