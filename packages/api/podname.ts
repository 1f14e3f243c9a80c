/** Which Pod is a Sandbox's. Pure. @module */
import { POD_NAME_ANNOTATION } from "./objects/keys.ts";
import { isDNSSubdomain } from "./objects/names.ts";
import type { ObjectMeta } from "./objects/objects.ts";

/**
 * Returns the name of the Pod that the Sandbox has, or is to have: its own, or that of a Pod which another controller gave
 * it and noted in an annotation. Source: Agent Sandbox API, section 2.4.
 */
export function podNameOf({ metadata }: { metadata: ObjectMeta }): string {
  const noted = metadata.annotations?.[POD_NAME_ANNOTATION];
  return noted !== undefined && isDNSSubdomain(noted) ? noted : metadata.name;
}

/** Tells whether that is a Pod of another name. */
export function hasOtherPod(sandbox: { metadata: ObjectMeta }): boolean {
  return podNameOf(sandbox) !== sandbox.metadata.name;
}
