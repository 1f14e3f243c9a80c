/** Writes the annotation of a parent that lists the problems with its children. @module */
import type { Problem, Unresolved } from "../api/keeperreports.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch, type Target } from "../kube/requests.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Report } from "./reconciler.ts";

/**
 * Returns the merge patch that sets the annotation to these problems, or removes it if there are none; undefined if
 * that is so already. The patch applies only to the version of the parent that was checked.
 */
function unresolvedPatch({ metadata }: { metadata: ObjectMeta }, problems: Problem[]): object | undefined {
  const unresolved: Unresolved = { generation: metadata.generation ?? 0, problems };
  const text = problems.length > 0 ? JSON.stringify(unresolved) : undefined;
  if (metadata.annotations?.[UNRESOLVED_ANNOTATION] === text) return undefined;
  return patchOf(metadata, { annotations: { [UNRESOLVED_ANNOTATION]: text ?? null } });
}

/** Writes or removes the annotation. @returns false if the parent has changed or is gone; then check again */
export async function publishProblems(api: Api, report: Report, parent: Target, problems: Problem[]): Promise<boolean> {
  const body = unresolvedPatch(parent, problems);
  if (!body) return true;
  if (!await sendPatch(api, parent, body)) return false;
  if (problems.length > 0) report("annotated", parent.metadata, { problems });
  else report("annotation removed", parent.metadata, {});
  return true;
}
