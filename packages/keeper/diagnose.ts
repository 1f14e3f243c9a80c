/** Why a Sandbox does not get its children: from what stands in their place, and from what a dry run answers. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { Problem } from "../api/unresolved.ts";
import { readRefusal } from "../api/diagnosis/refusal.ts";
import { type Answer, messageOf } from "../kube/api.ts";
import { ADOPTABLE_LABEL, CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../api/objects/keys.ts";
import { cutText } from "../api/objects/fit.ts";
import { withLimit } from "../api/objects/limits.ts";
import { nameHash } from "../api/objects/names.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Child } from "./child.ts";

/** What is to be done about one child. */
export type Verdict =
  /** It is the Sandbox's own, or Metacontroller is about to make it so, or it is going away. */
  | { verdict: "ours" | "pending" }
  /** Nothing of its name exists. */
  | { verdict: "missing" }
  /** It is a Pod that another controller has noted, and is not the Sandbox's: it gets one of its own name. */
  | { verdict: "forget" }
  /** It may be adopted, once it carries {@link CONTROLLER_UID_LABEL}. */
  | { verdict: "adopt"; object: KubeObject }
  | { verdict: "problem"; problem: Problem };

/** What messages call a kind. */
const NOUNS = { PersistentVolumeClaim: "PVC", Pod: "pod", Service: "service" } as const;

/**
 * Judges one child by what exists under its name. Source: Agent Sandbox API, sections 2.4 to 2.7.
 *
 * | controlled by | mode | labels | | verdict |
 * |---|---|---|---|---|
 * | (does not exist), or another | | | a Pod of another name than the Sandbox's | forget |
 * | (does not exist) | | | | missing |
 * | this Sandbox | | with its UID | | ours |
 * | this Sandbox | | without: Metacontroller is about to release it | | pending |
 * | another | | | | problem: is owned by |
 * | nobody | Suspended | | | problem: not ours |
 * | nobody | Running | neither adoptable nor the name hash | | problem: cannot adopt |
 * | nobody | Running | either of them | a Service with a cluster IP | problem: cannot adopt |
 * | nobody | Running | either of them | being deleted, or labelled for adoption | pending |
 * | nobody | Running | either of them | else | adopt |
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

/** The query of a dry run by the keeper. */
export const DRY_RUN = { dryRun: "All", fieldManager: "hookbox-keeper" } as const;

/** `fine`: it could be made or changed. `unknown`: the answer is not about the child, so what was known before still holds. */
type DryRunVerdict = Problem | "fine" | "unknown";

/** How messages of deploy/keeper/admission.yaml begin. It may be older than the keeper. */
const OWN_POLICY = "denied request: The keeper may ";

/** Longest message in characters: it goes into an annotation and a condition. */
const LONGEST_MESSAGE = 2000;

/**
 * Reads the answer to a dry run.
 *
 * | answer | verdict |
 * |---|---|
 * | success, 409 (somebody was faster), 404 (the namespace is gone), 403 because it is about to go | fine |
 * | 422, 400, 413 | invalid |
 * | 400 of an admission webhook that takes no dry runs | unknown |
 * | 401, 408, 429, or 403 because of the keeper's own rights or its own admission policy | unknown |
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
  // There is nobody left to tell.
  if (status === 403 && cause === "NamespaceTerminating") return "fine";
  if (status === 400 && message.includes("does not support dry run")) return "unknown";
  // Policies answer 422.
  if (message.includes(OWN_POLICY)) return "unknown";
  if (status === 422 || status === 400 || status === 413) return problem("invalid");
  if (status === 401 || status === 408 || status === 429) return "unknown";
  // It is the keeper itself that may not write it.
  if (status === 403 && cause === "ControllerForbidden") return "unknown";
  if (status >= 500) return cause === "AdmissionWebhookUnreachable" ? problem("refused") : "unknown";
  return problem("refused");
}
