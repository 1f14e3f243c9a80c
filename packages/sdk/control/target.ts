/** Names of the two kinds that a sandbox of the SDK is held by. No behaviour but names. @module */
import type { ObjectPath } from "../../kube/api.ts";
import type { ObjectRef } from "../errors.ts";

/** A claim, or a Sandbox of its own. */
export interface Target {
  kind: "SandboxClaim" | "Sandbox";
  namespace: string;
  name: string;
}

const RESOURCES = { SandboxClaim: "sandboxclaims", Sandbox: "sandboxes" } as const;

/** Returns where it is. */
export function placeOf({ kind, namespace, name }: Target): ObjectPath & { name: string } {
  return { resource: RESOURCES[kind], namespace, name };
}

/** Names it for errors. */
export function refOf({ kind, namespace, name }: Target): ObjectRef {
  return { kind, namespace, name };
}

/** Names it for people: `claim team-a/demo`. */
export function wordsFor({ kind, namespace, name }: Target): string {
  return `${kind === "Sandbox" ? "sandbox" : "claim"} ${namespace}/${name}`;
}
