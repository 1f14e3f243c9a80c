/**
 * Defines the Sandbox hook as a value that a server can mount: its function, and how long its answers may wait. @module
 */
import { sandboxSchema } from "../../packages/api/sandbox.ts";
import { compositeCalls, type HookCalls, type SentRequest } from "../../packages/webhook/hook.ts";
import { controllerOf, uidKey } from "../../packages/api/objects/objects.ts";
import type { Spacing } from "../../packages/webhook/throttle.ts";
import { childRules } from "./childrules.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { evidence, statusRules } from "./statusrules.ts";
import { syncSandbox } from "./sync.ts";
import type { SandboxConfig } from "../flags.ts";

/**
 * Creates the hook for one installation. @param decide replaces the hook's decision; tests check that the guard refuses
 * it
 */
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
 * Roughly the work of a small cluster's control plane to start a Pod, in milliseconds. There is no option for it. On a
 * faster control plane, the calls for members of a pool arrive faster, and if more than four wait at once, they are not
 * delayed at all.
 */
const START_MS = 100;

/**
 * Returns the time between two answers for members of a pool that have no Pod yet; undefined: this Sandbox is answered
 * at once.
 */
export function startSpacing({ parent, children = {} }: SentRequest): Spacing | undefined {
  const owner = controllerOf({ name: "", ...parent?.metadata });
  const isStarting = Object.values(children).every((objects) => Object.keys(objects).length === 0);
  if (owner?.kind !== "SandboxWarmPool" || !isStarting) return undefined;
  return { key: uidKey(parent?.metadata?.namespace, owner.uid), intervalMs: START_MS };
}

/** How long schedulers usually take to bind a Pod, in milliseconds. */
const BINDING_MS = 5;

/**
 * Returns how many milliseconds the answer waits. It waits while the Pod has no node. Metacontroller then sends one
 * call for the Pod's creation and its binding, instead of two, and processes the Sandbox once before the Pod is Ready.
 */
export function bindingDelay({ children = {} }: SentRequest): number {
  const [pod, ...more] = Object.values(children["Pod.v1"] ?? {}) as { spec?: { nodeName?: string } }[];
  return pod !== undefined && more.length === 0 && !pod.spec?.nodeName ? BINDING_MS : 0;
}
