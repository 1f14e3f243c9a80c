/**
 * Decides what a pool reports about the NetworkPolicy of its template, and when. It uses pure functions only. @module
 */
import type { PoolPolicyReason } from "../../packages/api/sandboxwarmpool.ts";
import {
  POLICY_GRACE_MS,
  type PolicyFault,
  policyMessage,
  type TemplatePolicy,
} from "../../packages/api/templatepolicy.ts";
import type { Verdict } from "../../packages/api/objects/conditions.ts";
import { specChanged } from "../../packages/api/objects/objects.ts";
import type { WarmPoolConfig } from "../flags.ts";
import type { View } from "./view.ts";

/** Returns the seconds until a missing or outdated policy is reported; 0: it is reported now, or nothing is wrong. */
export function policyGraceSeconds({ template, policyFault }: View, now: Date): number {
  if (!template || !policyFault || policyFault.state === "taken") return 0;
  const { creationTimestamp = "" } = template.metadata;
  const age = now.getTime() - Date.parse(specChanged(template.metadata) ?? creationTimestamp);
  // If the template's time is too far in the future, the clocks differ: the problem is reported at once.
  return Math.abs(age) < POLICY_GRACE_MS ? (POLICY_GRACE_MS - age) / 1000 : 0;
}

/** Returns what is wrong with the policy, if it must be reported now; undefined: nothing to report. */
export function dueFault(view: View, now: Date): PolicyFault | undefined {
  return policyGraceSeconds(view, now) > 0 ? undefined : view.policyFault;
}

/** The condition NetworkPolicy is separate from Ready, because a full pool can lack the policy. Absent: nothing is wrong. */
export function policyVerdicts(
  view: View,
  config: WarmPoolConfig,
  now: Date,
): Verdict<"NetworkPolicy", PoolPolicyReason>[] {
  const fault = dueFault(view, now);
  if (!view.template || !fault) return [];
  const message = `${policyMessage(view.template, fault)}; ${CONSEQUENCES[config.templateNetworkPolicy]}`;
  return [{ type: "NetworkPolicy", status: "False", reason: POLICY_REASONS[fault.state], message }];
}

export const POLICY_REASONS = {
  missing: "NetworkPolicyMissing",
  taken: "NetworkPolicyNotOwned",
  outdated: "NetworkPolicyOutdated",
} as const satisfies Record<PolicyFault["state"], PoolPolicyReason>;

const CONSEQUENCES: Record<TemplatePolicy, string> = {
  required: "no sandbox of the template starts until this is fixed",
  optional: "sandboxes of the template start without it",
};
