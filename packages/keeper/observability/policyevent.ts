/** Creates the Event of a template whose NetworkPolicy is not in force. @module */
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import type { Problem } from "../../api/keeperreports.ts";
import { policyProblemOf } from "../../api/templatepolicy.ts";
import { regardingOf } from "../../kube/event.ts";
import { UNRESOLVED_ANNOTATION } from "../../api/objects/keys.ts";
import type { ObjectMeta } from "../../api/objects/objects.ts";
import type { Sight } from "./eventrecorder.ts";

/** The reporter of templates' Events, as the contract names it. */
const REPORTING_CONTROLLER = "sandboxtemplate-controller";

const REASONS: Record<Problem["state"], string> = {
  taken: "NetworkPolicyNotOwned",
  missing: "NetworkPolicyMissing",
  invalid: "NetworkPolicyRefused",
  refused: "NetworkPolicyRefused",
  stuck: "NetworkPolicyRefused",
};

/** Returns the Event of a template. Each write of the annotation is an occurrence of its own. */
export function policyEvent(template: SandboxTemplate): Sight {
  const { metadata } = template;
  const problem = policyProblemOf(metadata);
  if (!problem) return {};
  const writtenAt = annotatedAt(metadata);
  const mark = `${metadata.annotations?.[UNRESOLVED_ANNOTATION]} ${writtenAt}`;
  return {
    mark,
    occurrence: {
      regarding: regardingOf(template),
      type: "Warning",
      reason: REASONS[problem.state],
      action: "Reconciling",
      note: problem.message,
      reportingController: REPORTING_CONTROLLER,
      key: mark,
      at: Date.parse(writtenAt ?? metadata.creationTimestamp ?? ""),
    },
  };
}

/** The fields that are read of an entry of `metadata.managedFields`. */
interface Writer {
  time?: string;
  fieldsV1?: { "f:metadata"?: { "f:annotations"?: Record<string, unknown> } };
}

/** Returns when the annotation was written. The API server records, for each writer, what it wrote and when. */
function annotatedAt(metadata: ObjectMeta): string | undefined {
  const { managedFields = [] } = metadata as { managedFields?: Writer[] };
  const wrote = ({ fieldsV1 }: Writer) =>
    fieldsV1?.["f:metadata"]?.["f:annotations"]?.[`f:${UNRESOLVED_ANNOTATION}`] !== undefined;
  return managedFields.find(wrote)?.time;
}
