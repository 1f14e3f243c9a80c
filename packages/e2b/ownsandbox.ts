/** Reads the Sandbox of a claim, and no other: a claim's status may name any. @module */
import { controllerOf } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { Api } from "../kube/api.ts";
import { readIfAny } from "../sdk/control/find.ts";
import type { E2BSandbox } from "./claim.ts";

/**
 * Returns the Sandbox that the claim's status names, if the claim owns it; undefined otherwise. Users who may write the
 * status of claims would otherwise suspend, resume or read the Sandboxes of others in the namespace.
 *
 * @throws {SandboxError} if the API server refuses, or does not answer
 */
export async function ownSandbox(
  api: Api,
  { namespace, uid, sandboxName }: Pick<E2BSandbox, "namespace" | "uid" | "sandboxName">,
): Promise<Sandbox | undefined> {
  if (sandboxName === undefined) return undefined;
  const sandbox = await readIfAny<Sandbox>(api, { kind: "Sandbox", namespace, name: sandboxName });
  return sandbox && controllerOf(sandbox.metadata)?.uid === uid ? sandbox : undefined;
}
