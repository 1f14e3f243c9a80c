/** Finds the nodes that fit a Pod, by labels, taints and size, like the filters of the scheduler. @module */
import { quantity } from "../objects/quantity.ts";
import type { NodeFact } from "./facts.ts";
import type { NodeSelectorFact, PodSpecFact } from "./podfact.ts";

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
export interface Amount {
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
