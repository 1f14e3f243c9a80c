/**
 * Finds out why a Sandbox lacks a child, from the object that has the child's name and from the answer to a dry run.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { Problem } from "../api/keeperreports.ts";
import { readRefusal } from "../api/diagnosis/messages.ts";
import { type Answer, messageOf } from "../kube/api.ts";
import { ADOPTABLE_LABEL, CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../api/objects/keys.ts";
import { cutText } from "../api/objects/conditions.ts";
import { withLimit } from "../api/objects/size.ts";
import { nameHash } from "../api/objects/names.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Child } from "./child.ts";

/** What to do about one child. */
export type Verdict =
  /** It is the Sandbox's, or will soon be, because Metacontroller is adopting it, or it is being deleted. */
  | { verdict: "ours" | "pending" }
  /** No object has its name. */
  | { verdict: "missing" }
  /**
   * An annotation names a Pod that is not the Sandbox's. Remove the annotation, so that the Sandbox gets a Pod with its
   * own name.
   */
  | { verdict: "forget" }
  /** Metacontroller may adopt it, as soon as it has the label {@link CONTROLLER_UID_LABEL}. */
  | { verdict: "adopt"; object: KubeObject }
  | { verdict: "problem"; problem: Problem };

/** The name of each kind in messages. */
const NOUNS = { PersistentVolumeClaim: "PVC", Pod: "pod", Service: "service" } as const;

/**
 * Decides about one child by the object that exists under its name. Source: Agent Sandbox API, sections 2.4 to 2.7.
 *
 * | controlled by | mode | labels | other condition | verdict |
 * |---|---|---|---|---|
 * | (does not exist), or another owner | | | a Pod with a name other than the Sandbox's | forget |
 * | (does not exist) | | | | missing |
 * | this Sandbox | | its UID | | ours |
 * | this Sandbox | | not its UID: Metacontroller will release it | | pending |
 * | another owner | | | | problem: is owned by |
 * | no owner | Suspended | | | problem: not ours |
 * | no owner | Running | neither adoptable nor the name hash | | problem: cannot adopt |
 * | no owner | Running | either of them | a Service with a cluster IP | problem: cannot adopt |
 * | no owner | Running | either of them | being deleted, or already labelled for adoption | pending |
 * | no owner | Running | either of them | otherwise | adopt |
 */
export function diagnose(sandbox: Sandbox, { kind, name, found }: Child): Verdict {
  const { uid } = sandbox.metadata;
  const isNoted = kind === "Pod" && name !== sandbox.metadata.name;
  if (!found) return { verdict: isNoted ? "forget" : "missing" };
  const taken = (message: string): Verdict => ({
    verdict: "problem",
    problem: { kind, name, state: "taken", message },
  });
  const owner = controllerOf(found.metadata);
  const { deletionTimestamp, labels } = found.metadata;
  const isLabelled = labels?.[CONTROLLER_UID_LABEL] === uid;
  if (owner?.uid === uid) return { verdict: isLabelled ? "ours" : "pending" };
  const subject = `${NOUNS[kind]} "${name}"`;
  if (owner && isNoted) return { verdict: "forget" };
  if (owner) {
    const who = `${owner.kind}/${owner.name} (UID: ${owner.uid})`;
    return taken(`${subject} is owned by ${who}, not by sandbox "${sandbox.metadata.name}"`);
  }
  if (sandbox.spec.operatingMode === "Suspended") {
    return taken(`${subject} exists and is not controlled by sandbox "${sandbox.metadata.name}"`);
  }
  const refusal = adoptionRefusal(sandbox, found, subject);
  if (refusal !== undefined) return taken(refusal);
  return deletionTimestamp !== undefined || isLabelled ? { verdict: "pending" } : { verdict: "adopt", object: found };
}

function adoptionRefusal(sandbox: Sandbox, found: KubeObject, subject: string): string | undefined {
  const { labels = {} } = found.metadata;
  const isAllowed = labels[ADOPTABLE_LABEL] === "true" || labels[NAME_HASH_LABEL] === nameHash(sandbox.metadata.name);
  if (!isAllowed) {
    const lacks = `pool authorization label ("${ADOPTABLE_LABEL}") or sandbox tracking label ("${NAME_HASH_LABEL}")`;
    return `cannot adopt unowned ${subject}: missing required ${lacks}`;
  }
  const address = found.kind === "Service"
    ? (found["spec"] as { clusterIP?: string } | undefined)?.clusterIP
    : undefined;
  if (!address || address === "None") return undefined;
  return `cannot adopt ${subject}: ClusterIP is "${address}" (expected "None", field is immutable)`;
}

/** Query parameters of the keeper's dry runs. */
export const DRY_RUN = { dryRun: "All", fieldManager: "hookbox-keeper" } as const;

/** `fine`: the write would succeed. `unknown`: the answer says nothing about the child, so an earlier result still holds. */
type DryRunVerdict = Problem | "fine" | "unknown";

/** How messages of deploy/keeper/admission.yaml begin. The deployed file may be older than the keeper. */
const OWN_POLICY = "denied request: The keeper may ";

/** Longest message in characters; it is written to an annotation and a condition. */
const LONGEST_MESSAGE = 2000;

/**
 * Interprets the answer to a dry run.
 *
 * | answer | verdict |
 * |---|---|
 * | success, 409 (another client was faster), 404 (the namespace is gone), 403 because the namespace is being deleted | fine |
 * | 422, 400, 413 | invalid |
 * | 400 from an admission webhook that does not support dry runs | unknown |
 * | 401, 408, 429, or 403 because of the keeper's own permissions or its own admission policy | unknown |
 * | 403 (quota, admission) and any other 4xx | refused |
 * | 500 because an admission webhook cannot be called | refused |
 * | any other | unknown |
 */
export function dryRunVerdict({ kind, name }: Pick<Problem, "kind" | "name">, answer: Answer): DryRunVerdict {
  const { status } = answer;
  const message = cutText(withLimit(messageOf(answer)), LONGEST_MESSAGE);
  const cause = readRefusal(message, undefined)?.code;
  const problem = (state: Problem["state"]): Problem => ({ kind, name, state, message });
  if (status < 300 || status === 409 || status === 404) return "fine";
  // In a namespace that is being deleted, there is nothing to report.
  if (status === 403 && cause === "NamespaceTerminating") return "fine";
  if (status === 400 && message.includes("does not support dry run")) return "unknown";
  // Test this before the status: admission policies answer 422.
  if (message.includes(OWN_POLICY)) return "unknown";
  if (status === 422 || status === 400 || status === 413) return problem("invalid");
  if (status === 401 || status === 408 || status === 429) return "unknown";
  // The keeper itself lacks the permission.
  if (status === 403 && cause === "ControllerForbidden") return "unknown";
  if (status >= 500) return cause === "AdmissionWebhookUnreachable" ? problem("refused") : "unknown";
  return problem("refused");
}
