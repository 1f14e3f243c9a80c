/** The annotation on a parent about children that are kept away: what to write, and writing it. @module */
import type { Problem, Unresolved } from "../api/unresolved.ts";
import type { Api } from "../kube/api.ts";
import { patchOf, sendPatch, type Target } from "../kube/patch.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Report } from "./reconciler.ts";

/**
 * Returns the merge patch that makes the annotation say these problems, or go if there are none; undefined if it
 * already does. It only fits the version of the parent that was judged.
 */
function unresolvedPatch({ metadata }: { metadata: ObjectMeta }, problems: Problem[]): object | undefined {
  const unresolved: Unresolved = { generation: metadata.generation ?? 0, problems };
  const text = problems.length > 0 ? JSON.stringify(unresolved) : undefined;
  if (metadata.annotations?.[UNRESOLVED_ANNOTATION] === text) return undefined;
  return patchOf(metadata, { annotations: { [UNRESOLVED_ANNOTATION]: text ?? null } });
}

/** Writes the annotation, or removes it. @returns false if the parent has changed or gone meanwhile: look again */
export async function publishProblems(api: Api, report: Report, parent: Target, problems: Problem[]): Promise<boolean> {
  const body = unresolvedPatch(parent, problems);
  if (!body) return true;
  if (!await sendPatch(api, parent, body)) return false;
  if (problems.length > 0) report("annotated", parent.metadata, { problems });
  else report("annotation removed", parent.metadata, {});
  return true;
}
