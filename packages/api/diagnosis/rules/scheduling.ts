/**
 * Finds out why no node takes a Pod, from the scheduler's message and, if nodes could be read, from the nodes. Nodes are
 * filtered by labels, taints and size, like in the scheduler. @module
 */
import { quantity } from "../../objects/quantity.ts";
import type { Code } from "../catalogue.ts";
import type { NodeFact, NodeSelectorFact, PodConditionFact, PodSpecFact } from "../facts.ts";
import { type Cause, cause, type Evidence } from "../finding.ts";
import { change, kubectl } from "../remedy.ts";
import { eventEvidence, eventsOf, type PodScene, secondsSince } from "../scene.ts";

/** If no scheduler has handled a Pod after this many seconds, none is responsible for it. */
const SILENCE_SECONDS = 30;

/** The scheduling gate and the label with which Kueue queues Pods. */
const KUEUE_GATE = "kueue.x-k8s.io/admission";
const KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/queue-name";

/** A scheduling gate holds the Pod back. */
export function gated(scene: PodScene): Cause | undefined {
  const { pod, podRef } = scene;
  const gates = (pod.spec?.schedulingGates ?? []).map(({ name }) => name);
  if (gates.length === 0) return undefined;
  const scheduled = scheduledCondition(scene);
  const queue = gates.includes(KUEUE_GATE) ? pod.metadata.labels?.[KUEUE_QUEUE_LABEL] : undefined;
  const held = `Pod "${podRef.name}" is held back by ${gates.length > 1 ? "the gates" : "the gate"} ${
    gates.join(", ")
  }`;
  return cause("SchedulingGated", {
    object: podRef,
    summary: queue === undefined ? `${held}.` : `${held}: it waits for quota in Kueue's queue "${queue}".`,
    evidence: [
      { object: podRef, where: "spec.schedulingGates", text: gates.join(", ") },
      ...(scheduled ? [conditionEvidence(scene, scheduled)] : []),
    ],
    since: scheduled?.lastTransitionTime ?? pod.metadata.creationTimestamp,
    remedy: queue === undefined
      ? `See why the controller that owns ${gates.join(", ")} does not lift it, ${
        change(scene, "or leave it out of", "schedulingGates")
      }`
      : `See how full the queue is (${
        kubectl("describe", { ...podRef, kind: "LocalQueue", name: queue })
      }) and why Kueue ` +
        `does not admit the Pod (kubectl describe workloads -n ${podRef.namespace ?? "default"}).`,
  });
}

/**
 * The scheduler's messages about nodes, and what they mean. If several match, the first in this list decides: the Pod
 * came closest to being scheduled.
 */
const REASONS: [Code, RegExp][] = [
  ["InsufficientResources", /^Insufficient |^Too many pods/],
  ["PodAffinityUnsatisfied", /anti-affinity|pod affinity|topology spread/],
  ["VolumeNodeConflict", /volume node affinity conflict|no available volume zone/],
  ["UntoleratedTaint", /taint|were unschedulable/],
  ["NodeSelectorMismatch", /didn't match Pod's node affinity/],
];

/** Splits the scheduler's message into its reasons, without the number of nodes. */
function reasonsIn(message: string): string[] {
  // What follows the first sentence is about preemption.
  const [told = ""] = message.split(/\.(?: |$)/);
  return told.replace(/^\d+\/\d+ nodes are available: /, "").split(/, (?=\d)/)
    .map((part) => part.replace(/^\d+ /, ""));
}

/** What each reason is called in a list; the scheduler's own words about resources are short enough. */
const SHORT: Partial<Record<Code, string>> = {
  PodAffinityUnsatisfied: "affinity",
  VolumeNodeConflict: "volume on another node",
  UntoleratedTaint: "taint",
  NodeSelectorMismatch: "node selector",
};

/**
 * Returns the reasons of the scheduler's message in a few words each, such as `Insufficient cpu`; empty: it gives none
 * that is known.
 */
export function unschedulableReasons(message: string): string[] {
  if (message.includes("no nodes available")) return ["no nodes"];
  if (/unbound immediate persistentvolumeclaim/i.test(message)) return ["unbound volume"];
  const reasons = reasonsIn(message);
  return [
    ...new Set(
      REASONS.flatMap(([code, words]) =>
        reasons.filter((reason) => words.test(reason)).map((reason) => SHORT[code] ?? reason)
      ),
    ),
  ];
}

/** The scheduler has found no node. */
export function unschedulable(scene: PodScene): Cause | undefined {
  const { pod, podRef, facts, now } = scene;
  const scheduled = scheduledCondition(scene);
  if (pod.spec?.nodeName || scheduled?.status === "True") return undefined;
  if (!scheduled) return schedulerSilent(scene);
  const message = scheduled.message ?? "";
  // Another rule will report what the volume lacks.
  const isYoung = secondsSince(scheduled.lastTransitionTime, now) < SILENCE_SECONDS;
  if (isYoung && /persistentvolumeclaim/i.test(message)) return undefined;
  const code = codeOf(scene, message);
  const isComing = eventsOf(facts, podRef, pod.metadata.uid).find(({ reason }) =>
    reason === "TriggeredScaleUp" || reason === "Nominated"
  );
  // If a request exceeds the capacity of every node, waiting does not help, unless somebody adds a larger node.
  const tooBig = code === "InsufficientResources" ? excessOf(scene) : [];
  const isPatient = isComing !== undefined || secondsSince(scheduled.lastTransitionTime, now) < 60;
  return cause(code, {
    object: podRef,
    summary: summaryOf(scene, code, message, tooBig),
    evidence: [
      conditionEvidence(scene, scheduled),
      ...tooBig.map((text): Evidence => ({ object: podRef, where: "spec.containers[].resources.requests", text })),
      ...(isComing ? [eventEvidence(isComing)] : []),
    ],
    since: scheduled.lastTransitionTime,
    isGuess: code === "Unschedulable" || (facts.nodes === undefined && /taint|affinity/i.test(message)),
    hopeless: code === "VolumeNodeConflict" || (tooBig.length > 0 && !isPatient),
    ...remedyOf(scene, code),
  });
}

function schedulerSilent(scene: PodScene): Cause | undefined {
  const { pod, podRef, now } = scene;
  const { creationTimestamp: since } = pod.metadata;
  if (secondsSince(since, now) < SILENCE_SECONDS) return undefined;
  const scheduler = pod.spec?.schedulerName ?? "default-scheduler";
  return cause("SchedulerSilent", {
    object: podRef,
    summary: `Scheduler "${scheduler}" has not looked at Pod "${podRef.name}".`,
    evidence: [{ object: podRef, where: "status.conditions", text: "there is no PodScheduled" }],
    since,
    remedy: `See that a scheduler named "${scheduler}" runs, ${change(scene, "or change", "schedulerName")}`,
  });
}

/**
 * Returns the code for the scheduler's message, which counts the nodes for each reason. If the nodes could be read, the
 * code is checked against them.
 */
function codeOf({ pod, facts: { nodes } }: PodScene, message: string): Code {
  if (message.includes("no nodes available") || nodes?.length === 0) return "NoNodes";
  const reasons = reasonsIn(message);
  const [code] = REASONS.find(([, words]) => reasons.some((reason) => words.test(reason))) ??
    ["Unschedulable" as const];
  if (!nodes || (code !== "UntoleratedTaint" && code !== "NodeSelectorMismatch")) return code;
  const matching = matchingNodes(pod.spec ?? {}, nodes);
  if (matching.length === 0) return "NodeSelectorMismatch";
  return toleratedNodes(pod.spec ?? {}, matching).length === 0 ? "UntoleratedTaint" : code;
}

function summaryOf({ pod, podRef, facts }: PodScene, code: Code, message: string, tooBig: string[]): string {
  const who = `Pod "${podRef.name}"`;
  const { nodeSelector } = pod.spec ?? {};
  switch (code) {
    case "NoNodes":
      return "The cluster has no nodes.";
    case "InsufficientResources":
      return tooBig.length > 0
        ? `No node is big enough for ${who}: ${tooBig.join("; ")}.`
        : `No node has room for ${who}: ${message}`;
    case "UntoleratedTaint": {
      const nodes = matchingNodes(pod.spec ?? {}, facts.nodes ?? []);
      const taints = nodes.flatMap(({ spec }) => (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`));
      const which = taints.length > 0 ? ` (${[...new Set(taints)].join(", ")})` : "";
      return `The nodes that ${who} could run on have taints that it does not tolerate${which}.`;
    }
    case "NodeSelectorMismatch": {
      const labels = Object.entries(nodeSelector ?? {}).map(([key, value]) => `${key}=${value}`).join(", ");
      return `No node has the labels that ${who} asks for${labels === "" ? "" : `: ${labels}`}.`;
    }
    default:
      return `No node takes ${who}: ${message}`;
  }
}

function remedyOf(scene: PodScene, code: Code): { remedy?: string } {
  switch (code) {
    case "InsufficientResources":
      return { remedy: change(scene, "Add nodes, or lower", "containers[].resources.requests") };
    case "UntoleratedTaint":
      return { remedy: change(scene, "Add the tolerations to", "tolerations") };
    case "NodeSelectorMismatch":
      return { remedy: change(scene, "Label a node (kubectl label node), or change", "nodeSelector or affinity") };
    default:
      return {};
  }
}

/**
 * Lists the resources that the Pod requests in a larger quantity than the largest node has; empty: none, or the nodes
 * could not be read.
 */
function excessOf({ pod, facts: { nodes = [] } }: PodScene): string[] {
  const candidates = toleratedNodes(pod.spec ?? {}, matchingNodes(pod.spec ?? {}, nodes));
  return Object.entries(requestOf(pod.spec ?? {})).flatMap(([resource, { text, amount }]) => {
    const most = biggest(candidates, resource);
    return most && amount > most.amount ? [`it requests ${resource} ${text}, the biggest node has ${most.text}`] : [];
  });
}

function scheduledCondition({ pod }: PodScene): PodConditionFact | undefined {
  return pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
}

function conditionEvidence({ podRef }: PodScene, { status, reason = "", message = "" }: PodConditionFact): Evidence {
  return { object: podRef, where: "status.conditions[PodScheduled]", text: `${status} ${reason}: ${message}` };
}

/** Lists the nodes that have the labels which nodeSelector and required node affinity ask for. */
export function matchingNodes({ nodeSelector = {}, affinity }: PodSpecFact, nodes: readonly NodeFact[]): NodeFact[] {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return nodes.filter(({ metadata: { labels = {} } }) =>
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) && isSelected(labels, required)
  );
}

/** Lists the nodes whose taints the Pod tolerates. */
export function toleratedNodes({ tolerations = [] }: PodSpecFact, nodes: readonly NodeFact[]): NodeFact[] {
  return nodes.filter(({ spec }) =>
    (spec?.taints ?? []).every((taint) =>
      taint.effect === "PreferNoSchedule" ||
      tolerations.some((toleration) =>
        (!toleration.effect || toleration.effect === taint.effect) &&
        (!toleration.key || toleration.key === taint.key) &&
        (toleration.operator === "Exists" || (toleration.value ?? "") === (taint.value ?? ""))
      )
    )
  );
}

/** A quantity, as text and in base units. */
interface Amount {
  text: string;
  amount: number;
}

/** Adds up the requests of a Pod's containers, for each resource. */
export function requestOf({ containers = [] }: PodSpecFact): Record<string, Amount> {
  const sums: Record<string, Amount> = {};
  for (const { resources } of containers) {
    for (const [resource, text] of Object.entries(resources?.requests ?? {})) {
      const before = sums[resource];
      const amount = quantity(text) + (before?.amount ?? 0);
      sums[resource] = { text: before ? `${before.text} + ${text}` : text, amount };
    }
  }
  return sums;
}

/**
 * Returns the largest allocatable amount of a resource on any node, whether Pods use it or not; undefined: there are no
 * nodes.
 */
export function biggest(nodes: readonly NodeFact[], resource: string): Amount | undefined {
  const all = nodes.map(({ status }) => status?.allocatable?.[resource] ?? "0")
    .map((text) => ({ text, amount: quantity(text) }));
  return all.toSorted((a, b) => b.amount - a.amount)[0];
}

type Labels = Record<string, string>;

function isSelected(labels: Labels, selector: NodeSelectorFact | undefined): boolean {
  const terms = selector?.nodeSelectorTerms ?? [];
  return terms.length === 0 ||
    terms.some(({ matchExpressions = [] }) =>
      matchExpressions.every(({ key, operator, values = [] }) => holds(labels[key], operator, values))
    );
}

/** An unknown operator counts as satisfied, because the diagnosis blames nothing on a guess. */
function holds(label: string | undefined, operator: string, values: string[]): boolean {
  switch (operator) {
    case "In":
      return label !== undefined && values.includes(label);
    case "NotIn":
      return label === undefined || !values.includes(label);
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
    case "Gt":
      return Number(label) > Number(values[0]);
    case "Lt":
      return Number(label) < Number(values[0]);
    default:
      return true;
  }
}
