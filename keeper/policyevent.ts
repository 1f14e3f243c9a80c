/** The Event for a template whose NetworkPolicy is somebody else's, read from the word that the keeper leaves. Pure. @module */
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import { readUnresolved } from "../api/unresolved.ts";
import { UNRESOLVED_ANNOTATION } from "../lib/keys.ts";
import type { ObjectMeta } from "../lib/objects.ts";
import { regardingOf } from "../kube/event.ts";
import type { Sight } from "./eventsource.ts";

/** Who the contract says records Events of templates. */
const TEMPLATE_CONTROLLER = "sandboxtemplate-controller";

/** Reads a template. Each time that the word is left is an occurrence of its own. */
export function policyNotOwned(template: SandboxTemplate): Sight {
  const { metadata } = template;
  const problem = readUnresolved(metadata)?.problems.find(({ kind }) => kind === "NetworkPolicy");
  if (!problem) return {};
  const writtenAt = annotatedAt(metadata);
  const mark = `${metadata.annotations?.[UNRESOLVED_ANNOTATION]} ${writtenAt}`;
  return {
    mark,
    occurrence: {
      regarding: regardingOf(template),
      type: "Warning",
      reason: "NetworkPolicyNotOwned",
      action: "Reconciling",
      note: problem.message,
      reportingController: TEMPLATE_CONTROLLER,
      key: mark,
      at: Date.parse(writtenAt ?? metadata.creationTimestamp ?? ""),
    },
  };
}

/** What is read of an entry of `metadata.managedFields`. */
interface Writer {
  time?: string;
  fieldsV1?: { "f:metadata"?: { "f:annotations"?: Record<string, unknown> } };
}

/** Returns when the annotation was written: the API server keeps, for each writer, what it wrote and when. */
function annotatedAt(metadata: ObjectMeta): string | undefined {
  const { managedFields = [] } = metadata as { managedFields?: Writer[] };
  const wrote = ({ fieldsV1 }: Writer) =>
    fieldsV1?.["f:metadata"]?.["f:annotations"]?.[`f:${UNRESOLVED_ANNOTATION}`] !== undefined;
  return managedFields.find(wrote)?.time;
}
