/** Checks the keeper, the binder and the router. @module */
import type { LeaseFact } from "../../api/diagnosis/facts.ts";
import { BINDER_LEASE, KEEPER_LEASE, ROUTER_NAMESPACE, SYSTEM_NAMESPACE } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { messageOf, pathOf } from "../../kube/api.ts";
import { causeOf } from "../../process/log.ts";
import { humanDuration } from "../../summary/age.ts";
import { type Check, type CheckInput, type CheckResult, itemsOf, read } from "./check.ts";
import { checkRouterAccess, type RouterDeployment } from "./routeraccess.ts";

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

interface Deployment extends KubeObject {
  spec: RouterDeployment["spec"] & { replicas?: number };
  status?: { readyReplicas?: number };
}

/** Looks for routers in the cluster, because none was named. */
async function lookForRouter(input: CheckInput): Promise<CheckResult[]> {
  const what = "Router";
  const query = { labelSelector: ROUTER_SELECTOR };
  let answer = await read(input, pathOf({ resource: "deployments" }), query);
  if (answer.status === 403) {
    answer = await read(input, pathOf({ resource: "deployments", namespace: ROUTER_NAMESPACE }), query);
  }
  const routers = itemsOf<Deployment>(answer);
  if (!routers) {
    const remedy = "If there is a router, set --router or HOOKBOX_ROUTER_URL to its URL.";
    return [{ mark: "warn", what, text: `cannot be looked for: ${messageOf(answer)}`, remedy }];
  }
  const [router] = routers.toSorted((a, b) => (b.status?.readyReplicas ?? 0) - (a.status?.readyReplicas ?? 0));
  if (!router) {
    const text = "there is none: requests go through the API server, and only requests of this CLI resume sandboxes";
    return [{ mark: "warn", what, text, remedy: "Install the router: docs/router.md." }];
  }
  const { metadata: { namespace, name }, spec: { replicas = 1 }, status } = router;
  const ready = status?.readyReplicas ?? 0;
  const text = `${ready} of ${replicas} replicas of Deployment ${namespace}/${name} ready`;
  if (ready === 0) {
    const remedy = `Find out why: kubectl -n ${namespace} describe pods -l ${query.labelSelector}`;
    return [{ mark: "fail", what, text, remedy }];
  }
  const remedy = "To use it from here, set --router or HOOKBOX_ROUTER_URL to its URL.";
  return [
    { mark: ready < replicas ? "warn" : "ok", what, text: `${text}; this command does not use it`, remedy },
    await checkRouterAccess(input, router, query.labelSelector),
  ];
}

/** Selects the Deployment of the router, and its Pods. */
export const ROUTER_SELECTOR = "app.kubernetes.io/name=sandbox-router";

/** Checks whether the given router answers, or whether there is one in the cluster. */
export const checkRouter: Check = async (input) => {
  const { router, fetch } = input;
  const what = "Router";
  if (router === undefined) return await lookForRouter(input);
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
