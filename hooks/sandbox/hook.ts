/** The Sandbox hook as a value, what a server mounts: its function, and how soon it answers. @module */
import { sandboxSchema } from "../../packages/api/sandbox.ts";
import { compositeCalls, type HookCalls, type SentRequest } from "../../packages/webhook/hook.ts";
import { controllerOf, uidKey } from "../../packages/api/objects/objects.ts";
import type { Spacing } from "../../packages/webhook/throttle.ts";
import { childRules } from "./childrules.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { evidence, statusRules } from "./statusrules.ts";
import { syncSandbox } from "./sync.ts";
import type { SandboxConfig } from "../flags.ts";

/** Makes the hook for one installation. @param decide replaces the hook's decision; tests check that the guard refuses it */
export function sandboxHook(config: SandboxConfig, decide = syncSandbox): HookCalls {
  return compositeCalls({
    type: "composite",
    name: "sandbox",
    parentSchema: sandboxSchema,
    deletionReasons,
    childRules,
    evidence,
    statusRules: statusRules(config),
    spacing: startSpacing,
    delayMs: bindingDelay,
    sync: (observed, now) => decide(observed, now, config),
  });
}

/**
 * Roughly what a Pod's start costs a small cluster's control plane, in milliseconds. No option: where control planes do more,
 * members of a pool come faster, and more than four at once are not held back at all.
 */
const START_MS = 100;

/** Returns how far apart members of a pool that have no Pod yet are answered; undefined: this Sandbox is answered at once. */
export function startSpacing({ parent, children = {} }: SentRequest): Spacing | undefined {
  const owner = controllerOf({ name: "", ...parent?.metadata });
  const isStarting = Object.values(children).every((objects) => Object.keys(objects).length === 0);
  if (owner?.kind !== "SandboxWarmPool" || !isStarting) return undefined;
  return { key: uidKey(parent?.metadata?.namespace, owner.uid), intervalMs: START_MS };
}

/** How long schedulers take to bind a Pod, most often, in milliseconds. */
const BINDING_MS = 5;

/**
 * Returns how long the answer waits while the Pod has no node: its creation and its binding are then one call, and one
 * look of Metacontroller at the Sandbox, before the Pod is Ready.
 */
export function bindingDelay({ children = {} }: SentRequest): number {
  const [pod, ...more] = Object.values(children["Pod.v1"] ?? {}) as { spec?: { nodeName?: string } }[];
  return pod !== undefined && more.length === 0 && !pod.spec?.nodeName ? BINDING_MS : 0;
}
