/** Defines the SandboxClaim hook as a value that a server can mount. @module */
import { sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { CLAIM_CONTROLLER } from "../../packages/api/objects/keys.ts";
import { decoratorCalls, type HookCalls, type SentRequest } from "../../packages/webhook/hook.ts";
import { SANDBOXES, syncSandboxClaim } from "./sync.ts";
import { childRules } from "./childrules.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { evidence, parentRules, statusRules } from "./statusrules.ts";
import type { ClaimConfig } from "../flags.ts";

/**
 * Creates the hook for one installation. @param decide replaces the hook's decision; tests check that the guard refuses
 * it
 */
export function sandboxClaimHook(config: ClaimConfig, decide = syncSandboxClaim): HookCalls {
  return decoratorCalls({
    type: "decorator",
    name: CLAIM_CONTROLLER,
    parentSchema: sandboxClaimSchema,
    deletionReasons,
    childRules,
    evidence,
    statusRules,
    parentRules,
    delayMs: bindingDelay,
    sync: (observed, now) => decide(observed, now, config),
  });
}

/** How long it usually takes until the writes that bind a claim are observed, in milliseconds. */
const BINDING_MS = 25;

/**
 * Returns how many milliseconds the answer waits. It waits while a claim is being bound. Metacontroller then sends one
 * call for the binder's writes and for the Sandbox's status after the binding, and searches the Sandboxes of the
 * namespace once instead of several times.
 */
export function bindingDelay({ parent, children = {} }: SentRequest): number {
  const { status } = (parent ?? {}) as { status?: { sandbox?: { name?: string } } };
  const name = status?.sandbox?.name;
  if (name === undefined) return BINDING_MS;
  const sandbox = children[SANDBOXES]?.[name] as SentSandbox | undefined;
  return sandbox && sandbox.status?.observedGeneration !== sandbox.metadata?.generation ? BINDING_MS : 0;
}

/** The part of a Sandbox that is read from a request before the request is checked: every field may be missing. */
interface SentSandbox {
  metadata?: { generation?: number };
  status?: { observedGeneration?: number };
}
