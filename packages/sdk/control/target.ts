/** Names and paths of the two kinds that the SDK creates: claims and Sandboxes. @module */
import type { ObjectPath } from "../../kube/api.ts";
import type { ObjectRef } from "../errors.ts";

/** A claim, or a Sandbox without a claim. */
export interface Target {
  kind: "SandboxClaim" | "Sandbox";
  namespace: string;
  name: string;
}

const RESOURCES = { SandboxClaim: "sandboxclaims", Sandbox: "sandboxes" } as const;

/** Returns its path in the API. */
export function placeOf({ kind, namespace, name }: Target): ObjectPath & { name: string } {
  return { resource: RESOURCES[kind], namespace, name };
}

/** Returns its reference for errors. */
export function refOf({ kind, namespace, name }: Target): ObjectRef {
  return { kind, namespace, name };
}

/** Returns its name for messages: `claim team-a/demo`. */
export function wordsFor({ kind, namespace, name }: Target): string {
  return `${kind === "Sandbox" ? "sandbox" : "claim"} ${namespace}/${name}`;
}
