/** Writes the sentences that tell how to fix a Sandbox's Pod, with the object and the field to change. @module */
import { named, type ObjectRef } from "./finding.ts";
import type { Scene } from "./scene.ts";

type Edited = Pick<Scene, "at" | "blueprint" | "facts" | "pod">;

/** Returns a field of the Pod's spec, and the object in which a person must edit it. */
export function fieldOf({ blueprint }: Pick<Scene, "blueprint">, field: string): string {
  return `spec.podTemplate.spec.${field} of ${named(blueprint)}`;
}

/**
 * Returns the sentence to change a field of the Pod's spec, and what to do next so that the change takes effect. The
 * spec of an existing Pod never changes, and a pool's Sandbox is a copy of the template.
 *
 * @param what the verb, such as `Correct`
 */
export function change(scene: Edited, what: string, field: string): string {
  return `${what} ${fieldOf(scene, field)}${sequel(scene)}.`;
}

/** Returns a kubectl command for an object, with its namespace. */
export function kubectl(verb: string, { kind, namespace, name }: ObjectRef): string {
  return `kubectl ${verb} ${kind.toLowerCase()} ${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

function sequel({ blueprint, facts: { subject }, at, pod }: Edited): string {
  if (blueprint.kind === "Sandbox") return pod ? `, then ${kubectl("delete pod", at).replace(" sandbox ", " ")}` : "";
  if (subject.kind === "SandboxWarmPool") return "";
  return subject.kind === "SandboxClaim" ? ", then recreate the claim" : ", then recreate the sandbox";
}

/** Returns the remedy for a Pod that has failed and does not restart. */
export function remedyOfFailed(
  scene: Pick<Scene, "blueprint">,
  { name, namespace }: ObjectRef,
): string {
  return `Read kubectl logs ${name} -n ${
    namespace ?? "default"
  }, fix it, and suspend and resume the Sandbox for a new Pod, or let ` +
    `it restart: set ${fieldOf(scene, "restartPolicy")} to Always.`;
}
