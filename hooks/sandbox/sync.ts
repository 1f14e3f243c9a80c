/** The Sandbox hook: from what is observed to what should be. No I/O, no clock, no randomness. @module */
import type { Sandbox, SandboxStatus } from "../../packages/api/sandbox.ts";
import type { Desired, Observed } from "../../packages/webhook/metacontroller.ts";
import { desiredChildren, expiredChildren, untouchedChildren } from "./children.ts";
import { type ExpiryPhase, expiryPhase, resyncAfter } from "./expiry.ts";
import { computeStatus, isQuiet, isYoung } from "./status.ts";
import { type View, viewOf } from "./view.ts";
import type { SandboxConfig } from "./options.ts";

const MISSING_POD_SECONDS = 5;
/** Until then a Sandbox that keeps quiet counts on the Pod that its first answer makes, or else on the keeper to wake it. */
const POD_EXPECTED_MS = 2000;

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
  const status = computeStatus(view, expiry, config.clusterDomain, now);
  const quiet = isQuiet(view, status, now);
  const isExpected = quiet && isYoung(sandbox.metadata.creationTimestamp, POD_EXPECTED_MS, now);
  const resyncAfterSeconds = soonest(resyncAfter(sandbox, now), isExpected ? undefined : lookForPod(view, expiry));
  return {
    status: quiet ? {} : status,
    ...(expiry === "published" ? expiredChildren(view) : desiredChildren(view)),
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
  };
}

/** A Pod of a former Sandbox may still hold the name: when it is gone, nobody says so. */
function lookForPod(view: View, expiry: ExpiryPhase): number | undefined {
  const isWanted = view.sandbox.spec.operatingMode === "Running" && expiry === "none";
  return isWanted && view.pods.length === 0 ? MISSING_POD_SECONDS : undefined;
}

function soonest(...waits: (number | undefined)[]): number | undefined {
  const known = waits.filter((seconds) => seconds !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
