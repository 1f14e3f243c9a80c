/** Writes the sentences that tell how to fix a problem, with the object and the field to change. @module */
import { controllerOf } from "../objects/objects.ts";
import { isTooLong } from "../objects/size.ts";
import { named, type ObjectRef } from "./finding.ts";
import { lackedRight, type Refusal } from "./messages.ts";
import { refOf, type Scene } from "./scene.ts";

/** What a remedy needs to know about a Sandbox, or about a pool whose Sandboxes are refused. */
export type EditedScene = Pick<Scene, "at" | "blueprint" | "facts" | "pod">;

/** Returns a field of the Pod's spec, and the object in which a person must edit it. */
function fieldOf({ blueprint }: Pick<Scene, "blueprint">, field: string): string {
  return `spec.podTemplate.spec.${field} of ${named(blueprint)}`;
}

/**
 * Returns the sentence to change a field of the Pod's spec, and what to do next so that the change takes effect. The
 * spec of an existing Pod never changes, and a pool's Sandbox is a copy of the template.
 *
 * @param what the verb, such as `Correct`
 */
export function change(scene: EditedScene, what: string, field: string): string {
  return `${what} ${fieldOf(scene, field)}${sequel(scene)}.`;
}

/** Returns a kubectl command for an object, with its namespace. */
export function kubectl(verb: string, { kind, namespace, name }: ObjectRef): string {
  return `kubectl ${verb} ${kind.toLowerCase()} ${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

function sequel({ blueprint, facts: { subject }, at, pod }: EditedScene): string {
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

/** Returns the remedy for a refusal; empty: the catalogue's remedy applies. @param words the API server's message */
export function remedyOf(
  scene: EditedScene,
  code: Refusal["code"],
  culprit: ObjectRef,
  words: string,
): { remedy?: string } {
  const { name, namespace } = culprit;
  switch (code) {
    case "QuotaExceeded":
      return { remedy: `Raise spec.hard (${kubectl("edit", culprit)}), or delete what uses it up.` };
    case "QuotaNeedsResources":
      return { remedy: change(scene, "State requests and limits in", "containers[].resources") };
    case "PodSecurityViolation":
      return {
        remedy:
          `Set the fields that it names in ${fieldOf(scene, "securityContext")} and of its containers, or lower ` +
          `the label: kubectl label namespace ${name} pod-security.kubernetes.io/enforce=baseline --overwrite.`,
      };
    case "LimitRangeViolation":
      return { remedy: change(scene, "Keep to the LimitRange in", "containers[].resources") };
    case "ServiceAccountNotFound":
      return {
        remedy: `Create it (kubectl create serviceaccount ${name} -n ${namespace}), or change ${
          fieldOf(scene, "serviceAccountName")
        }.`,
      };
    case "RuntimeClassNotFound":
      return { remedy: `Create the RuntimeClass "${name}", or change ${fieldOf(scene, "runtimeClassName")}.` };
    case "PriorityClassNotFound":
      return { remedy: `Create the PriorityClass "${name}", or change ${fieldOf(scene, "priorityClassName")}.` };
    case "ControllerForbidden":
      return forbiddenRemedy(words);
    case "NameTaken":
      return { remedy: takenRemedy(culprit) };
    case "InvalidConfiguration":
      return { remedy: invalidRemedy(scene, words) };
    default:
      return {};
  }
}

function forbiddenRemedy(words: string): { remedy?: string } {
  const lacked = lackedRight(words);
  if (!lacked) return {};
  const { account, right } = lacked;
  return {
    remedy:
      `Grant ${account} the right to ${right}: install the roles of this version (hookbox install --apply, or the ` +
      'chart). "hookbox doctor" lists every right that is missing.',
  };
}

function takenRemedy(culprit: ObjectRef): string {
  const adopt = `let the Sandbox have it (${kubectl("label", culprit)} agents.x-k8s.io/adoptable=true)`;
  // The remedy never asks to delete a volume, because somebody's data would be lost.
  const isVolume = culprit.kind === "PersistentVolumeClaim";
  const text = `${isVolume ? "" : `delete it (${kubectl("delete", culprit)}), `}${adopt}, or use another name.`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function invalidRemedy({ blueprint, facts: { sandbox, claim } }: EditedScene, words: string): string {
  const [, field] = /Pod "[^"]+" is invalid: \[?(spec\.[^:\s]+): /.exec(words) ?? [];
  const where = field === undefined ? "what the evidence names in" : `spec.podTemplate.${field} of`;
  const owner = sandbox && controllerOf(sandbox.metadata);
  // If the claim has been read, it is known whether the claim sets the variable.
  const isPerhapsClaims = field?.endsWith("].name") && field.includes(".env[") && !claim &&
    owner?.kind === "SandboxClaim";
  const more = isPerhapsClaims ? `, or spec.env of ${named(owner)}` : claimsPart(claim, blueprint, words);
  return `Correct ${where} ${named(blueprint)}${more}.`;
}

/** Names the claim, if the object is too large and the claim has made it larger. */
function claimsPart(claim: EditedScene["facts"]["claim"], blueprint: ObjectRef, words: string): string {
  const isLarger = claim?.spec.env !== undefined || claim?.spec.additionalPodMetadata !== undefined;
  if (!claim || !isLarger || blueprint.kind === "SandboxClaim" || !isTooLong(words)) return "";
  return `, or what ${named(refOf("SandboxClaim", claim.metadata))} adds to it`;
}
