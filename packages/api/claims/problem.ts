/** Defines why a claim gets no Sandbox, with the messages of the Agent Sandbox API. @module */
import type { LackedRight } from "../diagnosis/messages.ts";
import { withLimit } from "../objects/size.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";

/** A reason and a message for the claim's Ready condition. */
export interface ClaimProblem {
  /** Reason of the claim's Ready condition. Source: Agent Sandbox API, section 3.5.7. */
  reason:
    | "WarmPoolNotFound"
    | "TemplateNotFound"
    | "InvalidMetadata"
    | "EnvVarsInjectionRejected"
    | "VolumeClaimTemplatesError"
    | "InvalidConfiguration"
    | "ReconcilerError";
  /** The message of the condition, for people. */
  message: string;
}

/** Prefixes of messages. */
const DEFAULTS = "Error seen: set the lifecycle of spec.claimDefaults: ";
const LACKING = "Error seen: the installation of hookbox lacks the right to ";
const REFUSED = "Error seen: create sandbox: ";
const UNDELIVERED = "Error seen: give the sandbox what its claim sets: ";
const UNSIZED = "Error seen: resize the sandbox for its claim: ";
const TAKEN = 'Error seen: sandbox "';

/** The claim's pool does not exist. */
export function poolNotFound(pool: string): ClaimProblem {
  return { reason: "WarmPoolNotFound", message: `SandboxWarmPool "${pool}" not found` };
}

/** The claim's pool is being deleted, and its members are no longer bound to claims. */
export function poolLeaving(pool: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `Error seen: SandboxWarmPool "${pool}" is being deleted` };
}

/** The template of the claim's pool does not exist. */
export function templateNotFound(template: string): ClaimProblem {
  return { reason: "TemplateNotFound", message: `SandboxTemplate "${template}" not found` };
}

/** The template's NetworkPolicy is missing, and no sandbox starts without it. @param words what is wrong with the policy */
export function policyNotInForce(template: string, words: string): ClaimProblem {
  const message = `No sandbox of SandboxTemplate "${template}" starts without its NetworkPolicy: ${words}`;
  return { reason: "ReconcilerError", message };
}

/** The API server refuses the Sandbox that is created for the claim. @param words the API server's message */
export function creationRefused(words: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `${REFUSED}${withLimit(words)}` };
}

/**
 * The claim needs a new Sandbox, and a Sandbox of another owner has its name. Source: Agent Sandbox API, section 3.5.3.
 */
export function nameTaken(name: string): ClaimProblem {
  const remedy = "Please use a different claim name or delete the sandbox manually";
  return { reason: "ReconcilerError", message: `${TAKEN}${name}" is not controlled by claim "${name}". ${remedy}` };
}

/** Longest name of a Sandbox that has a Service, because the Service has the same name. Source: Agent Sandbox API 1.0.6. */
const LONGEST_WITH_SERVICE = 63;

/** A new Sandbox has the name of its claim, and this name is too long for a Service. Undefined: the name is short enough. */
export function nameTooLong(name: string, { spec }: SandboxTemplate): ClaimProblem | undefined {
  if (spec.service !== true || name.length <= LONGEST_WITH_SERVICE) return undefined;
  const why = `must be no more than ${LONGEST_WITH_SERVICE} characters when spec.service is true`;
  return { reason: "InvalidConfiguration", message: `${REFUSED}Sandbox "${name}" is invalid: metadata.name ${why}` };
}

/** The API server refuses the lifecycle that the binder copies from the pool. @param words the API server's message */
export function lifecycleRefused(words: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `${DEFAULTS}${words}` };
}

/** The claim's Sandbox does not get the claim's variables, files or start command, so the claim is not bound. @param words the cause, without values */
export function deliveryFailed(words: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `${UNDELIVERED}${withLimit(words)}` };
}

/** The claim's Sandbox is not resized and cannot be replaced, so the claim is not bound. @param words the cause */
export function resizeFailed(words: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `${UNSIZED}${withLimit(words)}` };
}

/** The binder's account lacks a right, so that it can serve no claim like this one. @param words the API server's message */
export function rightLacking({ right }: LackedRight, words: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `${LACKING}${right}: ${words}` };
}

/** Tells whether a message comes from {@link nameTaken}. */
export function isNameTaken(message: string): boolean {
  return message.startsWith(TAKEN);
}

/** Returns the API server's part of a message of the functions above, or of the message of a Sandbox's Ready condition. */
export function apiServersWords(message: string): string {
  return message.replace(/^Error seen: (?:create sandbox: |the installation of hookbox lacks .*?: )?/, "");
}
