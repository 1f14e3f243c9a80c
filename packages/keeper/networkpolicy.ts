/**
 * Reconciles the NetworkPolicies of templates: lets Metacontroller see them, keeps them when their template is deleted,
 * and reports problems.
 * @module
 */
import { Buffer } from "node:buffer";
import { buildNetworkPolicy } from "../../hooks/sandboxtemplate/networkpolicy.ts";
import type { Problem } from "../api/keeperreports.ts";
import { applyCreate, applyUpdate, canonicalJson } from "../api/objects/apply.ts";
import { DECORATOR_ANNOTATION, TEMPLATE_CONTROLLER, UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { controllerOf, controllerReference, type KubeObject, type OwnerReference } from "../api/objects/objects.ts";
import { kubeObjectSchema } from "../api/objects/schemas.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import {
  isLeftBehind,
  namespaceReference,
  outlivesTemplate,
  type Policy,
  POLICY_GRACE_MS,
  policyFault,
  policyName,
} from "../api/templatepolicy.ts";
import { type Api, pathOf } from "../kube/api.ts";
import type { ReconcileQueue, Reconciler } from "../kube/reconcilequeue.ts";
import { findObject, type MetadataChange, patchOf, sendPatch } from "../kube/requests.ts";
import type { EventHandler } from "../kube/watch.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { publishProblems } from "./child.ts";
import { DRY_RUN, dryRunVerdict } from "./diagnose.ts";
import { INTERVALS, type Intervals, lookReconciler, type Outcome, type Report, type Situation } from "./reconciler.ts";
import type { KnownPolicy, References } from "./references.ts";
import { createWaiting, requeueOnChange } from "./watches.ts";

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

/**
 * Maximum size of an object's annotations, in bytes. Metacontroller stores its copy of a child in one. Source:
 * apimachinery, ValidateAnnotations.
 */
const MOST_ANNOTATED = 256 * 1024;

/** Why the API server refuses the policy. */
type PolicyRefusal = Pick<Problem, "state" | "message">;

/**
 * Sends a dry run of the write of the policy, as Metacontroller would write it now. Returns why the API server would
 * refuse it; undefined if it would accept it, or if that is not known.
 *
 * @param found the policy to change; undefined: it would be created
 */
async function policyRefusal(
  api: Api,
  template: SandboxTemplate,
  found: KubeObject | undefined,
): Promise<PolicyRefusal | undefined> {
  // The hook may deny further networks. That does not matter here, because the default rules are short.
  const wanted = buildNetworkPolicy(template, { deniedEgressCidrs: [] }, { observed: found });
  const annotations = { ...wanted.metadata.annotations, [DECORATOR_ANNOTATION]: TEMPLATE_CONTROLLER };
  const policy = { ...wanted, metadata: { ...wanted.metadata, annotations } };
  const tooLarge = sizeProblem(policy);
  if (tooLarge) return tooLarge;
  const { namespace } = template.metadata;
  const { name } = wanted.metadata;
  const collection = { resource: "networkpolicies", namespace } as const;
  const write = found
    ? { method: "PUT", path: pathOf({ ...collection, name }), body: applyUpdate(found, policy) } as const
    : { method: "POST", path: pathOf(collection), body: applyCreate(policy) } as const;
  const answer = await api.send({ ...write, query: DRY_RUN });
  const verdict = dryRunVerdict({ kind: "NetworkPolicy", name }, answer);
  return typeof verdict === "string" ? undefined : verdict;
}

/** Metacontroller stores a copy of a child in an annotation of the child. A long list of rules reaches that limit first. */
function sizeProblem(policy: object): PolicyRefusal | undefined {
  const bytes = Buffer.byteLength(canonicalJson(policy));
  if (bytes < MOST_ANNOTATED) return undefined;
  const message = `its rules are too large: ${bytes} bytes, but the annotation in which Metacontroller ` +
    `keeps them holds ${MOST_ANNOTATED}. Use fewer or larger networks, or create the policy yourself and set ` +
    "networkPolicyManagement to Unmanaged";
  return { state: "invalid", message };
}

/** Returns whether a policy is in force, is seen by Metacontroller, and remains when its template is deleted. */
function isWhole(template: SandboxTemplate, policy: Policy | undefined): boolean {
  return policy !== undefined && policyFault(template, policy) === undefined && isSeen(policy) &&
    outlivesTemplate(policy.metadata);
}

/** Metacontroller sees only attachments with this annotation. */
function isSeen({ metadata }: Policy): boolean {
  return metadata.annotations?.[DECORATOR_ANNOTATION] === TEMPLATE_CONTROLLER;
}

/** A change of a policy's metadata; `ownerReferences` replaces the whole list. */
type PolicyChange = MetadataChange & { ownerReferences?: OwnerReference[] };

/**
 * Returns the change that makes the template control a policy; undefined if it already does, or another owner does.
 *
 * | controlled by | has the hook's annotation | namespace is an owner | change |
 * |---|---|---|---|
 * | the template | no | any | add the annotation: another controller created the policy for the template |
 * | the template | yes | no | add the namespace as an owner, so that the policy remains without its template |
 * | no owner, or an earlier template of the name | yes | any | make the template the controller |
 * | any other | any | any | none |
 */
async function ownershipChange(
  api: Api,
  template: SandboxTemplate,
  policy: KubeObject,
): Promise<PolicyChange | undefined> {
  const { metadata } = policy;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const isOurs = controllerOf(metadata)?.uid === template.metadata.uid;
  if (!isOurs && !isLeftBehind(policy, template.metadata)) return undefined;
  if (isOurs && isSeen(policy) && outlivesTemplate(metadata)) return undefined;
  const name = template.metadata.namespace ?? "";
  const namespace = await findObject(api, { resource: "namespaces", name }, kubeObjectSchema);
  // The policy is deleted with its namespace.
  if (!namespace || namespace.metadata.deletionTimestamp !== undefined) return undefined;
  const others = (metadata.ownerReferences ?? []).filter(({ controller, kind }) => !controller && kind !== "Namespace");
  return {
    ...isSeen(policy) ? {} : { annotations: { [DECORATOR_ANNOTATION]: TEMPLATE_CONTROLLER } },
    ownerReferences: [controllerReference(template), namespaceReference(namespace.metadata), ...others],
  };
}
