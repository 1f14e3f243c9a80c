/** What to write into a Sandbox's annotation about children that are kept away. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { Problem, Unresolved } from "../api/unresolved.ts";
import { UNRESOLVED_ANNOTATION } from "../lib/keys.ts";

/**
 * Returns the merge patch that makes the annotation say these problems, or go if there are none; undefined if it
 * already does. It only fits the version of the Sandbox that was judged.
 */
export function unresolvedPatch({ metadata }: Sandbox, problems: Problem[]): object | undefined {
  const unresolved: Unresolved = { generation: metadata.generation ?? 0, problems };
  const text = problems.length > 0 ? JSON.stringify(unresolved) : undefined;
  if (metadata.annotations?.[UNRESOLVED_ANNOTATION] === text) return undefined;
  const { resourceVersion } = metadata;
  return { metadata: { resourceVersion, annotations: { [UNRESOLVED_ANNOTATION]: text ?? null } } };
}
