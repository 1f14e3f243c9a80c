/** Finds out whether an object of one of hookbox's kinds is being deleted. @module */
import type { ObjectMeta } from "../../objects/objects.ts";
import { type Cause, cause, type ObjectRef } from "../finding.ts";

/** The object is being deleted; undefined: it is not. */
export function beingDeleted(metadata: ObjectMeta, at: ObjectRef): Cause | undefined {
  const { deletionTimestamp: since } = metadata;
  if (since === undefined) return undefined;
  const finalizers = (metadata["finalizers"] as string[] | undefined) ?? [];
  const waits = finalizers.length > 0 ? `, and waits for the finalizers ${finalizers.join(", ")}` : "";
  return cause("BeingDeleted", {
    object: at,
    summary: `${at.kind} "${at.name}" is being deleted${waits}.`,
    evidence: [{ object: at, where: "metadata.deletionTimestamp", text: since }],
    since,
  });
}
