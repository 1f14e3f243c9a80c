/**
 * Defines the SandboxWarmPool hook as a value that a server can mount: its function, the related objects that it needs,
 * and how often it is called. @module
 */
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";
import { policyName } from "../../packages/api/templatepolicy.ts";
import { compositeCalls, type HookCalls, type SentRequest } from "../../packages/webhook/hook.ts";
import type { RelatedRule } from "../../packages/webhook/metacontroller.ts";
import type { Spacing } from "../../packages/webhook/throttle.ts";
import { childRules } from "./childrules.ts";
import { deletionReasons } from "./deletionreasons.ts";
import { evidence, statusRules } from "./statusrules.ts";
import { syncSandboxWarmPool } from "./sync.ts";
import type { WarmPoolConfig } from "../flags.ts";

/**
 * Creates the hook for one installation. @param decide replaces the hook's decision; tests check that the guard refuses
 * it
 */
export function sandboxWarmPoolHook(config: WarmPoolConfig, decide = syncSandboxWarmPool): HookCalls {
  return compositeCalls({
    type: "composite",
    name: "sandboxwarmpool",
    parentSchema: sandboxWarmPoolSchema,
    deletionReasons,
    childRules: childRules(config),
    evidence,
    statusRules,
    customize: customizeSandboxWarmPool,
    spacing: (request) => answerSpacing(request, config),
    sync: (observed, now) => decide(observed, now, config),
  });
}

/** Asks Metacontroller for the pool's template and for the template's NetworkPolicy. */
export function customizeSandboxWarmPool({ metadata: { namespace = "" }, spec }: SandboxWarmPool): RelatedRule[] {
  const { name } = spec.sandboxTemplateRef;
  const apiVersion = "extensions.agents.x-k8s.io/v1beta1";
  return [
    { apiVersion, resource: "sandboxtemplates", namespace, names: [name] },
    { apiVersion: "networking.k8s.io/v1", resource: "networkpolicies", namespace, names: [policyName(name)] },
  ];
}

/** A pool with more members is called less often, because every call contains all members. */
const LARGE = 25;
/** Longest interval, as a multiple of the shortest one. */
const LONGEST = 5;

/**
 * Returns the time between the answers for one pool. It is `poolIntervalMs` for up to 25 members. For more members it
 * grows in proportion, up to five times `poolIntervalMs`: Metacontroller sends, merges and compares all members in each
 * sync.
 *
 * @returns undefined if the answer must come at once, because only then claims can get the members that have arrived
 */
function answerSpacing(
  { parent, children = {} }: SentRequest,
  { poolIntervalMs }: Pick<WarmPoolConfig, "poolIntervalMs">,
): Spacing | undefined {
  const { metadata: { uid } = {}, status } = parent ?? {};
  const { arrivedSequence = 0, observedSequence = 0 } = status ?? {};
  if (uid === undefined || Number(observedSequence) < Number(arrivedSequence)) return undefined;
  const members = Object.values(children).reduce((sum, objects) => sum + Object.keys(objects).length, 0);
  return { key: uid, intervalMs: poolIntervalMs * Math.min(LONGEST, Math.max(1, members / LARGE)) };
}
