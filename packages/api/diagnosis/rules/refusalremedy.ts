/** Writes the remedy for a refusal by the API server, with the object and the field to change. @module */
import { lackedRight } from "../../lackedright.ts";
import { isTooLong } from "../../objects/limits.ts";
import { controllerOf } from "../../objects/objects.ts";
import { named, type ObjectRef } from "../finding.ts";
import type { Refusal } from "../refusal.ts";
import { change, fieldOf, kubectl } from "../remedy.ts";
import { refOf, type Scene } from "../scene.ts";

/** What the rules about refusals need to know about a Sandbox, or about a pool whose Sandboxes are refused. */
export type Ground = Pick<Scene, "at" | "blueprint" | "facts" | "pod">;

/** Returns the remedy for a refusal; empty: the catalogue's remedy applies. @param words the API server's message */
export function remedyOf(scene: Ground, code: Refusal["code"], culprit: ObjectRef, words: string): { remedy?: string } {
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

function invalidRemedy({ blueprint, facts: { sandbox, claim } }: Ground, words: string): string {
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
function claimsPart(claim: Ground["facts"]["claim"], blueprint: ObjectRef, words: string): string {
  const isLarger = claim?.spec.env !== undefined || claim?.spec.additionalPodMetadata !== undefined;
  if (!claim || !isLarger || blueprint.kind === "SandboxClaim" || !isTooLong(words)) return "";
  return `, or what ${named(refOf("SandboxClaim", claim.metadata))} adds to it`;
}
