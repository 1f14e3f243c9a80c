/** Sees that templates' NetworkPolicies are known to Metacontroller, and leaves word of those of somebody else. @module */
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { Clock } from "../lib/clock.ts";
import { kubeObjectSchema } from "../lib/objects.ts";
import type { Api } from "../kube/api.ts";
import type { Duty } from "./duty.ts";
import { findObject } from "./findobject.ts";
import { PACE, type Pace } from "./look.ts";
import { lookDuty } from "./lookduty.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { type PolicyFinding, policyFinding, policySituation } from "./policy.ts";
import type { Report } from "./report.ts";
import { publishProblems } from "./unresolved.ts";

/** The hook's own naming. */
export interface PolicyNaming {
  policyName(template: SandboxTemplate): string;
}

interface PolicyDutyOptions {
  api: Api;
  builders: PolicyNaming;
  report: Report;
  /** @default {PACE} */
  pace?: Pace;
  /** @default {systemClock} */
  clock?: Clock;
}

/** Makes the duty. A template whose policy is its own costs one request in five minutes. */
export function policyDuty(options: PolicyDutyOptions): Duty<SandboxTemplate> {
  const { api, report, pace = PACE, clock } = options;
  return lookDuty({
    name: "network policies",
    pace,
    clock,
    situationOf: policySituation,
    async look(template, { kind }) {
      const { outcome, problems } = kind === "leftover" ? LEFTOVER : await findingOf(template, options);
      const parent = { kind: "SandboxTemplate", resource: "sandboxtemplates", metadata: template.metadata } as const;
      return await publishProblems(api, report, parent, problems) ? outcome : "problem";
    },
  });
}

const LEFTOVER: PolicyFinding = { outcome: "nothing", problems: [] };

async function findingOf(
  template: SandboxTemplate,
  { api, builders, report }: PolicyDutyOptions,
): Promise<PolicyFinding> {
  const { namespace } = template.metadata;
  const name = builders.policyName(template);
  const found = await findObject(api, { resource: "networkpolicies", namespace, name }, kubeObjectSchema);
  const finding = policyFinding(template, name, found);
  if (!found || !finding.change) return finding;
  const target = { kind: "NetworkPolicy", resource: "networkpolicies", metadata: found.metadata } as const;
  if (!await sendPatch(api, target, patchOf(found.metadata, finding.change))) return { ...finding, outcome: "coming" };
  report("adopted", template.metadata, { kind: "NetworkPolicy", child: name });
  return finding;
}
