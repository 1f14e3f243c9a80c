/** Checks the keeper, the binder and the router. @module */
import type { LeaseFact } from "../../api/diagnosis/facts.ts";
import { BINDER_LEASE, KEEPER_LEASE, SYSTEM_NAMESPACE } from "../../api/installation.ts";
import { messageOf } from "../../kube/api.ts";
import { causeOf } from "../../process/log.ts";
import { humanDuration } from "../../summary/age.ts";
import { type Check, itemsOf, read } from "./check.ts";

const LEASES = "/apis/coordination.k8s.io/v1";

/** A process that uses a Lease for leader election. */
interface Leader {
  what: string;
  lease: string;
  /** Appended to the problem with the Lease; may be empty. */
  loss: string;
  remedy: string;
}

/** Checks whether a keeper holds its Lease. */
export const checkKeeper: Check = checkLease({
  what: "Keeper",
  lease: KEEPER_LEASE,
  loss: "",
  remedy: "Run a keeper: hookbox keeper. Without it, expired objects are not deleted, and no Events are recorded.",
});

/** Checks whether a binder holds its Lease. */
export const checkBinder: Check = checkLease({
  what: "Binder",
  lease: BINDER_LEASE,
  loss: ": claims are not served",
  remedy: "Run a binder: hookbox keeper, which runs it unless started with --no-binder, or hookbox binder.",
});

function checkLease({ what, lease, loss, remedy }: Leader): Check {
  const query = { fieldSelector: `metadata.name=${lease}` };
  return async (input) => {
    let answer = await read(input, `${LEASES}/leases`, query);
    if (answer.status === 403) answer = await read(input, `${LEASES}/namespaces/${SYSTEM_NAMESPACE}/leases`, query);
    const leases = itemsOf<LeaseFact>(answer);
    if (!leases) return [{ mark: "warn", what, text: `cannot be read: ${messageOf(answer)}` }];
    const [newest] = leases.sort((a, b) => (b.spec?.renewTime ?? "").localeCompare(a.spec?.renewTime ?? ""));
    const nobody = `nobody holds Lease ${lease}${loss}`;
    if (!newest) return [{ mark: "fail", what, text: `${nobody} (there is none)`, remedy }];
    const { holderIdentity, renewTime, leaseDurationSeconds = 15 } = newest.spec ?? {};
    const sinceRenewalMs = input.now.getTime() - Date.parse(renewTime ?? "");
    const place = `Lease ${newest.metadata.namespace}/${lease}`;
    const age = renewTime === undefined ? "<unknown>" : humanDuration(Math.max(0, sinceRenewalMs));
    if (holderIdentity && sinceRenewalMs < leaseDurationSeconds * 1000) {
      return [{ mark: "ok", what, text: `${holderIdentity} holds ${place}, renewed ${age} ago` }];
    }
    const since = holderIdentity ? `${holderIdentity} renewed ${place} ${age} ago` : `released ${age} ago`;
    return [{ mark: "fail", what, text: `${nobody} (${since})`, remedy }];
  };
}

/** Checks whether the given router answers. */
export const checkRouter: Check = async ({ router, fetch }) => {
  const what = "Router";
  if (router === undefined) {
    return [{
      mark: "warn",
      what,
      text: "no router configured: requests go through the API server, and only requests of this CLI resume sandboxes",
      remedy: "Set --router or HOOKBOX_ROUTER_URL.",
    }];
  }
  try {
    const answer = await fetch(new URL("/healthz", router), { signal: AbortSignal.timeout(5000) });
    await answer.body?.cancel();
    if (answer.ok) return [{ mark: "ok", what, text: `answers at ${router}` }];
    return [{ mark: "fail", what, text: `${router} answers HTTP ${answer.status}`, remedy: "Read its log." }];
  } catch (error) {
    const text = `${router} does not answer: ${causeOf(error)}`;
    return [{ mark: "fail", what, text, remedy: "Run a router (hookbox router), or correct --router." }];
  }
};
