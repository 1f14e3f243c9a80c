/** Checks of the keeper and the router. Reads only. @module */
import { messageOf } from "../../kube/api.ts";
import type { KubeObject } from "../../lib/objects.ts";
import { humanDuration } from "../output/age.ts";
import { type Check, itemsOf, read } from "./check.ts";

interface Lease extends KubeObject {
  spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
}

const LEASES = "/apis/coordination.k8s.io/v1";
const ONLY_KEEPER = { fieldSelector: "metadata.name=hookbox-keeper" };

/** Does a keeper hold its Lease? */
export const checkKeeper: Check = async (patient) => {
  const what = "Keeper";
  const remedy = "Run one: hookbox keeper. Without it nothing that has expired is deleted, and no Events are recorded.";
  let answer = await read(patient, `${LEASES}/leases`, ONLY_KEEPER);
  if (answer.status === 403) answer = await read(patient, `${LEASES}/namespaces/hookbox-system/leases`, ONLY_KEEPER);
  const leases = itemsOf<Lease>(answer);
  if (!leases) return [{ mark: "warn", what, text: `cannot be seen: ${messageOf(answer)}` }];
  const [newest] = leases.sort((a, b) => (b.spec?.renewTime ?? "").localeCompare(a.spec?.renewTime ?? ""));
  if (!newest) return [{ mark: "fail", what, text: "there is no Lease hookbox-keeper", remedy }];
  const { holderIdentity, renewTime = "", leaseDurationSeconds = 15 } = newest.spec ?? {};
  const silentMs = patient.now.getTime() - Date.parse(renewTime);
  const place = `Lease ${newest.metadata.namespace}/hookbox-keeper`;
  if (holderIdentity && silentMs < leaseDurationSeconds * 1000) {
    return [{ mark: "ok", what, text: `${holderIdentity} holds ${place}` }];
  }
  return [{ mark: "fail", what, text: `nobody has renewed ${place} for ${humanDuration(silentMs)}`, remedy }];
};

/** Does the router answer that was named? */
export const checkRouter: Check = async ({ router, fetch }) => {
  const what = "Router";
  if (router === undefined) {
    return [{
      mark: "warn",
      what,
      text: "none is named: requests go through the API server, and only those of this command wake sandboxes",
      remedy: "Name it with --router or HOOKBOX_ROUTER_URL.",
    }];
  }
  try {
    const answer = await fetch(new URL("/healthz", router), { signal: AbortSignal.timeout(5000) });
    await answer.body?.cancel();
    if (answer.ok) return [{ mark: "ok", what, text: `answers at ${router}` }];
    return [{ mark: "fail", what, text: `${router} answers HTTP ${answer.status}`, remedy: "Look at its log." }];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const text = `${router} does not answer: ${cause instanceof Error ? cause.message : String(cause)}`;
    return [{ mark: "fail", what, text, remedy: "Run one, hookbox router, or correct --router." }];
  }
};
