/** Sentences that say what to do about a Sandbox's Pod, with the object and field that have to change. Pure. @module */
import { named, type ObjectRef } from "./finding.ts";
import type { Scene } from "./scene.ts";

type Edited = Pick<Scene, "at" | "blueprint" | "facts" | "pod">;

/** Names a field of the Pod's spec where it is to be edited. */
export function fieldOf({ blueprint }: Pick<Scene, "blueprint">, field: string): string {
  return `spec.podTemplate.spec.${field} of ${named(blueprint)}`;
}

/**
 * Says to change a field of the Pod's spec, and what it takes for the change to have an effect: a live Pod's spec is
 * never changed, and a Sandbox that a pool has made is a copy of the template.
 *
 * @param what such as `Correct`
 */
export function change(scene: Edited, what: string, field: string): string {
  return `${what} ${fieldOf(scene, field)}${sequel(scene)}.`;
}

/** Writes a kubectl command about an object, with its namespace. */
export function kubectl(verb: string, { kind, namespace, name }: ObjectRef): string {
  return `kubectl ${verb} ${kind.toLowerCase()} ${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

function sequel({ blueprint, facts: { subject }, at, pod }: Edited): string {
  if (blueprint.kind === "Sandbox") return pod ? `, then ${kubectl("delete pod", at).replace(" sandbox ", " ")}` : "";
  if (subject.kind === "SandboxWarmPool") return "";
  return subject.kind === "SandboxClaim" ? ", then recreate the claim" : ", then recreate the sandbox";
}

/** Says what helps a Pod that has failed and is not started again. */
export function remedyOfFailed(
  scene: Pick<Scene, "blueprint">,
  { name, namespace }: ObjectRef,
): string {
  return `Read kubectl logs ${name} -n ${
    namespace ?? "default"
  }, fix it, and suspend and resume the Sandbox for a new Pod, or let ` +
    `it restart: set ${fieldOf(scene, "restartPolicy")} to Always.`;
}
