/** The Sandbox hook: from what is observed to what should be. No I/O, no clock, no randomness. @module */
import type { Sandbox, SandboxStatus } from "../../packages/api/sandbox.ts";
import { type Desired, type Observed, soonestResync } from "../../packages/webhook/metacontroller.ts";
import { desiredChildren, expiredChildren, untouchedChildren } from "./children.ts";
import { type ExpiryPhase, expiryPhase, resyncAfter } from "./expiry.ts";
import { podLosses } from "./podlosses.ts";
import { computeStatus, isQuiet } from "./status.ts";
import { type View, viewOf } from "./view.ts";
import type { SandboxConfig } from "../flags.ts";

const MISSING_POD_SECONDS = 5;
/** Where the keeper has found out why, it is the one that looks again, and takes its word back. */
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
    // One that keeps quiet counts on the Pod that its first answer makes, or else on the keeper to wake it.
    quiet || losses?.isHeld ? undefined : lookForPod(view, expiry),
  );
  return {
    status: quiet ? {} : status,
    ...(expiry === "published" ? expiredChildren(view) : desiredChildren(view, losses, expiry === "due")),
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
  };
}

/**
 * A Pod of a former Sandbox may still hold the name: when it is gone, nobody says so. But what is refused is not to be
 * asked for again and again: all that fails in Metacontroller is tried again at one rate, for all namespaces together.
 */
function lookForPod(view: View, expiry: ExpiryPhase): number | undefined {
  const isWanted = view.sandbox.spec.operatingMode === "Running" && expiry === "none";
  if (!isWanted || view.pods.length > 0) return undefined;
  return view.problems.some(({ kind, state }) => kind === "Pod" && state !== "taken")
    ? REFUSED_POD_SECONDS
    : MISSING_POD_SECONDS;
}
