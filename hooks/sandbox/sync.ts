/**
 * The Sandbox hook: computes the desired children and status from the observed objects, without I/O, clock or
 * randomness. @module
 */
import type { Sandbox, SandboxStatus } from "../../packages/api/sandbox.ts";
import { type Desired, type Observed, soonestResync } from "../../packages/webhook/metacontroller.ts";
import { desiredChildren, expiredChildren, untouchedChildren } from "./children.ts";
import { type ExpiryPhase, expiryPhase, resyncAfter } from "./expiry.ts";
import { podLosses } from "./podlosses.ts";
import { computeStatus, isQuiet } from "./status.ts";
import { type View, viewOf } from "./view.ts";
import type { SandboxConfig } from "../flags.ts";

const MISSING_POD_SECONDS = 5;
/** If the keeper has reported why the Pod is refused, the keeper itself checks again and removes its report. */
const REFUSED_POD_SECONDS = 300;
/** Metacontroller retries a failed write with a growing delay of up to 15 minutes. A resync makes it retry at once. */
const STUCK_SECONDS = 30;

/**
 * Decides Pod, Service, PersistentVolumeClaims and status of one Sandbox.
 *
 * @throws {RangeError} if the controller lacks one of the three child rules
 */
export function syncSandbox(observed: Observed<Sandbox>, now: Date, config: SandboxConfig): Desired<SandboxStatus> {
  const view = viewOf(observed);
  const { sandbox } = view;
  if (sandbox.metadata.deletionTimestamp !== undefined) {
    return { status: { ...sandbox.status }, ...untouchedChildren(view) };
  }
  const expiry = expiryPhase(sandbox, now);
  const losses = expiry === "none" ? podLosses(view, now) : undefined;
  const status = computeStatus(view, expiry, config.clusterDomain, now, losses);
  const quiet = isQuiet(view, status, now);
  const resyncAfterSeconds = soonestResync(
    resyncAfter(sandbox, now),
    losses?.againSeconds,
    view.problems.some(({ state }) => state === "stuck") ? STUCK_SECONDS : undefined,
    // If the status can wait, the Sandbox relies on the events of the Pod that this answer creates, or on the keeper to
    // requeue it.
    quiet || losses?.isHeld ? undefined : lookForPod(view, expiry),
  );
  return {
    status: quiet ? {} : status,
    ...(expiry === "published" ? expiredChildren(view) : desiredChildren(view, losses, expiry === "due")),
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
  };
}

/**
 * Returns after how many seconds to check again for a missing Pod; undefined: no check is needed. A Pod of a former
 * Sandbox may still have the name, and no event is sent when it disappears. If the API server refuses the Pod, the
 * check comes much later: Metacontroller retries all failures of all namespaces at one shared rate.
 */
function lookForPod(view: View, expiry: ExpiryPhase): number | undefined {
  const isWanted = view.sandbox.spec.operatingMode === "Running" && expiry === "none";
  if (!isWanted || view.pods.length > 0) return undefined;
  return view.problems.some(({ kind, state }) => kind === "Pod" && state !== "taken")
    ? REFUSED_POD_SECONDS
    : MISSING_POD_SECONDS;
}
