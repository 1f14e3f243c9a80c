/** Has Metacontroller know the NetworkPolicies of templates, and says which of them are somebody else's. @module */
import { policyName } from "../../hooks/sandboxtemplate/networkpolicy.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import { type Problem, readUnresolved } from "../api/unresolved.ts";
import type { Api } from "../kube/api.ts";
import { regardingOf } from "../kube/event.ts";
import { type MetadataChange, patchOf, sendPatch } from "../kube/patch.ts";
import type { Clock } from "../process/clock.ts";
import { DECORATOR_ANNOTATION, TEMPLATE_CONTROLLER, UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { controllerOf, type KubeObject, kubeObjectSchema, type ObjectMeta } from "../api/objects/objects.ts";
import type { Sight } from "./observability/eventrecorder.ts";
import { INTERVALS, type Intervals, lookReconciler, type Outcome, type Situation } from "./look.ts";
import type { Reconciler, Report } from "./reconciler.ts";
import { findObject } from "../kube/find.ts";
import { publishProblems } from "./unresolved.ts";

/**
 * Tells what calls for a look at the policy of a template; undefined: nothing.
 *
 * | template | annotation | situation |
 * |---|---|---|
 * | being deleted | any | none |
 * | Managed | any | look |
 * | Unmanaged | there | leftover |
 * | Unmanaged | none | none |
 */
function policySituation({ metadata, spec }: SandboxTemplate): Situation | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  if (spec.networkPolicyManagement === "Managed") return { key: `${metadata.generation}`, kind: "look" };
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  return isAnnotated ? { key: `leftover ${metadata.resourceVersion}`, kind: "leftover" } : undefined;
}

/** What a look at the policy has shown. */
interface PolicyFinding {
  outcome: Outcome;
  problems: Problem[];
  /** What makes Metacontroller see a policy that another controller has made for the template. */
  change?: MetadataChange;
}

/** Judges what exists under the policy's name; undefined: nothing. Source: Agent Sandbox API, section 3.1. */
function policyFinding(
  { metadata }: SandboxTemplate,
  name: string,
  found: KubeObject | undefined,
): PolicyFinding {
  if (!found) return { outcome: "coming", problems: [] };
  if (controllerOf(found.metadata)?.uid === metadata.uid) {
    const isSeen = found.metadata.annotations?.[DECORATOR_ANNOTATION] === TEMPLATE_CONTROLLER;
    const change = isSeen ? {} : { change: { annotations: { [DECORATOR_ANNOTATION]: TEMPLATE_CONTROLLER } } };
    return { outcome: "whole", problems: [], ...change };
  }
  const message =
    `refusing to update NetworkPolicy "${name}" as it is not controlled by SandboxTemplate "${metadata.name}"`;
  return { outcome: "problem", problems: [{ kind: "NetworkPolicy", name, state: "taken", message }] };
}

interface PolicyReconcilerOptions {
  api: Api;
  report: Report;
  /** @default {INTERVALS} */
  intervals?: Intervals;
  /** @default {systemClock} */
  clock?: Clock;
}

/** Makes the reconciler. A template whose policy is its own costs one request in five minutes. */
export function policyReconciler(options: PolicyReconcilerOptions): Reconciler<SandboxTemplate> {
  const { api, report, intervals = INTERVALS, clock } = options;
  return lookReconciler({
    name: "network policies",
    intervals,
    clock,
    situationOf: policySituation,
    async look(template, { kind }) {
      const { outcome, problems } = kind === "leftover" ? LEFTOVER : await findingOf(template, options);
      const parent = { kind: "SandboxTemplate", resource: "sandboxtemplates", metadata: template.metadata } as const;
      return await publishProblems(api, report, parent, problems) ? outcome : "problem";
    },
  });
}

const LEFTOVER: PolicyFinding = { outcome: "nothing", problems: [] };

async function findingOf(
  template: SandboxTemplate,
  { api, report }: PolicyReconcilerOptions,
): Promise<PolicyFinding> {
  const { namespace } = template.metadata;
  const name = policyName(template);
  const found = await findObject(api, { resource: "networkpolicies", namespace, name }, kubeObjectSchema);
  const finding = policyFinding(template, name, found);
  if (!found || !finding.change) return finding;
  const target = { kind: "NetworkPolicy", resource: "networkpolicies", metadata: found.metadata } as const;
  if (!await sendPatch(api, target, patchOf(found.metadata, finding.change))) return { ...finding, outcome: "coming" };
  report("adopted", template.metadata, { kind: "NetworkPolicy", child: name });
  return finding;
}

/** Who the contract says records Events of templates. */
const REPORTING_CONTROLLER = "sandboxtemplate-controller";

/** Reads a template. Each time that the annotation is written is an occurrence of its own. */
export function policyNotOwned(template: SandboxTemplate): Sight {
  const { metadata } = template;
  const problem = readUnresolved(metadata)?.problems.find(({ kind }) => kind === "NetworkPolicy");
  if (!problem) return {};
  const writtenAt = annotatedAt(metadata);
  const mark = `${metadata.annotations?.[UNRESOLVED_ANNOTATION]} ${writtenAt}`;
  return {
    mark,
    occurrence: {
      regarding: regardingOf(template),
      type: "Warning",
      reason: "NetworkPolicyNotOwned",
      action: "Reconciling",
      note: problem.message,
      reportingController: REPORTING_CONTROLLER,
      key: mark,
      at: Date.parse(writtenAt ?? metadata.creationTimestamp ?? ""),
    },
  };
}

/** What is read of an entry of `metadata.managedFields`. */
interface Writer {
  time?: string;
  fieldsV1?: { "f:metadata"?: { "f:annotations"?: Record<string, unknown> } };
}

/** Returns when the annotation was written: the API server keeps, for each writer, what it wrote and when. */
function annotatedAt(metadata: ObjectMeta): string | undefined {
  const { managedFields = [] } = metadata as { managedFields?: Writer[] };
  const wrote = ({ fieldsV1 }: Writer) =>
    fieldsV1?.["f:metadata"]?.["f:annotations"]?.[`f:${UNRESOLVED_ANNOTATION}`] !== undefined;
  return managedFields.find(wrote)?.time;
}
