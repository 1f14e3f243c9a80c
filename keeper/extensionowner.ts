/** Which pool or claim controls a Sandbox. Pure. @module */
import { EXTENSIONS_GROUP } from "../api/crd.ts";
import { controllerOf, groupOf, type ObjectMeta, type OwnerReference } from "../lib/objects.ts";

/** Returns the SandboxWarmPool or SandboxClaim that controls a Sandbox; undefined: neither does. */
export function extensionOwner(
  metadata: ObjectMeta,
): OwnerReference & { kind: "SandboxWarmPool" | "SandboxClaim" } | undefined {
  const owner = controllerOf(metadata);
  if (!owner || groupOf(owner.apiVersion) !== EXTENSIONS_GROUP) return undefined;
  const { kind } = owner;
  return kind === "SandboxWarmPool" || kind === "SandboxClaim" ? { ...owner, kind } : undefined;
}
