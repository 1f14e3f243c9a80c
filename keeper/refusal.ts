/** What the API server's answer to a dry run says about a child that does not exist. Pure. @module */
import type { Problem } from "../api/unresolved.ts";
import { readRefusal } from "../diagnosis/refusal.ts";
import { type Answer, messageOf } from "../kube/api.ts";
import type { Child } from "./children.ts";

/** `fine`: it could be made. `unknown`: the answer is not about the child, so what was known before still holds. */
export type DryRunVerdict = Problem | "fine" | "unknown";

/** Longest message in characters: it goes into an annotation and a condition. */
const LONGEST_MESSAGE = 2000;

/**
 * Reads the answer to a dry-run create.
 *
 * | answer | verdict |
 * |---|---|
 * | success, 409 (somebody was faster), 404 (the namespace is gone), 403 because it is about to go | fine |
 * | 422, 400, 413 | invalid |
 * | 400 of an admission webhook that takes no dry runs | unknown |
 * | 401, 408, 429, or 403 because of the keeper's own rights | unknown |
 * | 403 (quota, admission) and any other 4xx | refused |
 * | 500 because an admission webhook cannot be called | refused |
 * | any other | unknown |
 */
export function dryRunVerdict({ kind, name }: Pick<Child, "kind" | "name">, answer: Answer): DryRunVerdict {
  const { status } = answer;
  const message = messageOf(answer).slice(0, LONGEST_MESSAGE);
  const cause = readRefusal(message, undefined)?.code;
  const problem = (state: Problem["state"]): Problem => ({ kind, name, state, message });
  if (status < 300 || status === 409 || status === 404) return "fine";
  // There is nobody left to tell.
  if (status === 403 && cause === "NamespaceTerminating") return "fine";
  if (status === 400 && message.includes("does not support dry run")) return "unknown";
  if (status === 422 || status === 400 || status === 413) return problem("invalid");
  if (status === 401 || status === 408 || status === 429) return "unknown";
  // It is the keeper itself that may not create it.
  if (status === 403 && cause === "ControllerForbidden") return "unknown";
  if (status >= 500) return cause === "AdmissionWebhookUnreachable" ? problem("refused") : "unknown";
  return problem("refused");
}
