/** Finds out which Pod belongs to a Sandbox. @module */
import { POD_NAME_ANNOTATION } from "./objects/keys.ts";
import { isDNSSubdomain } from "./objects/names.ts";
import type { ObjectMeta } from "./objects/objects.ts";

/**
 * Returns the name of the Pod that the Sandbox has or will have: the Sandbox's own name, or the name of a Pod that
 * another controller recorded in an annotation. Source: Agent Sandbox API, section 2.4.
 */
export function podNameOf({ metadata }: { metadata: ObjectMeta }): string {
  const noted = metadata.annotations?.[POD_NAME_ANNOTATION];
  return noted !== undefined && isDNSSubdomain(noted) ? noted : metadata.name;
}

/** Tells whether the Sandbox's Pod has another name than the Sandbox. */
export function hasOtherPod(sandbox: { metadata: ObjectMeta }): boolean {
  return podNameOf(sandbox) !== sandbox.metadata.name;
}
