/**
 * Reconciles the NetworkPolicies of templates: lets Metacontroller see them, keeps them when their template is deleted,
 * and reports problems.
 * @module
 */
import { POLICY_GRACE_MS, policyFault, policyName } from "../api/templatepolicy.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { Problem } from "../api/keeperreports.ts";
import type { Api } from "../kube/api.ts";
import { findObject, patchOf, sendPatch } from "../kube/requests.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { kubeObjectSchema } from "../api/objects/objects.ts";
import type { EventHandler } from "../kube/watch.ts";
import { INTERVALS, type Intervals, lookReconciler, type Outcome, type Report, type Situation } from "./reconciler.ts";
import { isWhole, ownershipChange } from "./policyownership.ts";
import { policyRefusal } from "./policyrefusal.ts";
import type { KnownPolicy, References } from "./references.ts";
import { createWaiting, requeueOnChange } from "./watches.ts";
import { publishProblems } from "./unresolved.ts";
import type { ReconcileQueue, Reconciler } from "../kube/reconcilequeue.ts";

/**
 * Returns the reason to check the policy of a template; undefined: there is none.
 *
 * | template | policy | annotation | situation |
 * |---|---|---|---|
 * | being deleted | any | any | none |
 * | Unmanaged | any | present | leftover |
 * | Unmanaged | any | absent | none |
 * | Managed | complete ({@link isWhole}) | absent | none |
 * | Managed | otherwise | any | look |
 */
function policySituation(template: SandboxTemplate, known: KnownPolicy | undefined): Situation | undefined {
  const { metadata, spec } = template;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  if (spec.networkPolicyManagement !== "Managed") {
    return isAnnotated ? { key: `leftover ${metadata.resourceVersion}`, kind: "leftover" } : undefined;
  }
  if (!isAnnotated && isWhole(template, known?.policy)) return undefined;
  return { key: `${metadata.generation} ${known?.version}`, kind: "look" };
}

interface PolicyReconcilerOptions {
  api: Api;
  report: Report;
  references: Pick<References, "policies">;
  /** @default {INTERVALS} */
  intervals?: Intervals;
  /** @default {systemClock} */
  clock?: Clock;
}

/** Creates the reconciler. It sends no request for a template whose policy is in force. */
export function policyReconciler(options: PolicyReconcilerOptions): Reconciler<SandboxTemplate> {
  const { api, report, references: { policies }, intervals = INTERVALS, clock } = options;
  return lookReconciler({
    name: "network policies",
    intervals,
    clock,
    situationOf(template: SandboxTemplate) {
      const { namespace, name } = template.metadata;
      return policies.hasSynced() ? policySituation(template, policies.get(namespace, policyName(name))) : undefined;
    },
    async look(template, { kind }) {
      const { outcome, problems } = kind === "leftover" ? LEFTOVER : await findingOf(template, options);
      const parent = { kind: "SandboxTemplate", resource: "sandboxtemplates", metadata: template.metadata } as const;
      return await publishProblems(api, report, parent, problems) ? outcome : "problem";
    },
  });
}

/**
 * Returns the event handler of the reconciler's queue. It requeues a template when its policy changes. A template that
 * would need no check even without a policy is not requeued, because if it is large, each time would cost a request.
 */
export function withPolicies(
  queue: ReconcileQueue<SandboxTemplate>,
  { policies }: Pick<References, "policies">,
): EventHandler<SandboxTemplate> {
  const keyOf = (namespace: string | undefined, policy: string) => `${namespace}/${policy}`;
  const waiting = createWaiting(queue, (template: SandboxTemplate) => {
    const { namespace, name } = template.metadata;
    return policySituation(template, undefined) && keyOf(namespace, policyName(name));
  });
  requeueOnChange(waiting, policies, ({ namespace, name }) => keyOf(namespace, name));
  return waiting;
}

/** The result of a check of the policy. */
interface PolicyFinding {
  outcome: Outcome;
  problems: Problem[];
}

const LEFTOVER: PolicyFinding = { outcome: "nothing", problems: [] };
const COMING: PolicyFinding = { outcome: "coming", problems: [] };

async function findingOf(template: SandboxTemplate, options: PolicyReconcilerOptions): Promise<PolicyFinding> {
  const { api, report, clock = systemClock } = options;
  const { metadata } = template;
  const name = policyName(metadata.name);
  const { namespace } = metadata;
  const found = await findObject(api, { resource: "networkpolicies", namespace, name }, kubeObjectSchema);
  const change = found && await ownershipChange(api, template, found);
  if (found && change) {
    const target = { kind: "NetworkPolicy", resource: "networkpolicies", metadata: found.metadata } as const;
    if (!await sendPatch(api, target, patchOf(found.metadata, change))) return COMING;
    report("adopted", metadata, { kind: "NetworkPolicy", child: name });
    return COMING;
  }
  const fault = policyFault(template, found);
  if (!fault) return { outcome: "whole", problems: [] };
  const problem = (state: Problem["state"], message: string): PolicyFinding => ({
    outcome: "problem",
    problems: [{ kind: "NetworkPolicy", name, state, message }],
  });
  if (fault.state === "taken") return problem("taken", fault.message);
  const refusal = await policyRefusal(api, template, found);
  if (refusal) return problem(refusal.state, `${fault.message}: ${refusal.message}`);
  // Metacontroller may be about to write the policy.
  if (clock.now() - Date.parse(metadata.creationTimestamp ?? "") < POLICY_GRACE_MS) return COMING;
  return problem("missing", `${fault.message}; ${UNTRIED}`);
}

const UNTRIED =
  "the API server would accept it: see the Events of the SandboxTemplate, and check that Metacontroller and " +
  "the hook sandboxtemplate run and may write NetworkPolicies";
