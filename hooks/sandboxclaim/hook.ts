/** The SandboxClaim hook as a value: what a server mounts. @module */
import { sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { CLAIM_CONTROLLER } from "../../packages/api/objects/keys.ts";
import { decoratorCalls, type HookCalls, type SentRequest } from "../../packages/webhook/hook.ts";
import { syncSandboxClaim } from "./sync.ts";
import { childRules } from "./childrules.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { evidence, parentRules, statusRules } from "./statusrules.ts";
import type { ClaimConfig } from "../flags.ts";

/** Makes the hook for one installation. @param decide replaces the hook's decision; tests check that the guard refuses it */
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

/** How long the writes that bind a claim take to be seen, most often, in milliseconds. */
const BINDING_MS = 25;

/**
 * Returns how long the answer waits while a claim is being bound: the writes of the binder, and of the Sandbox's status after
 * the hand-over, are then one more call, and one more look of Metacontroller through the Sandboxes of the namespace.
 */
export function bindingDelay({ parent, children = {} }: SentRequest): number {
  const { status } = (parent ?? {}) as { status?: { sandbox?: { name?: string } } };
  const name = status?.sandbox?.name;
  if (name === undefined) return BINDING_MS;
  const sandbox = children["Sandbox.agents.x-k8s.io/v1beta1"]?.[name] as SentSandbox | undefined;
  return sandbox && sandbox.status?.observedGeneration !== sandbox.metadata?.generation ? BINDING_MS : 0;
}

/** What a request tells of a Sandbox, of which nothing is certain. */
interface SentSandbox {
  metadata?: { generation?: number };
  status?: { observedGeneration?: number };
}
