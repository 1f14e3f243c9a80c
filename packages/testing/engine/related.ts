/**
 * Evaluates one rule of a customize answer: which objects it selects, and whether it selects a given one. No I/O.
 * @module
 */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Informer } from "./informer.ts";
import { type LabelSelector, matcherOf } from "./selector.ts";
import type { Resource } from "./store.ts";

export interface RelatedRule {
  apiVersion: string;
  resource: string;
  labelSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  namespace?: string;
  names?: string[];
}

export interface RuleContext {
  version: "v1" | "v2";
  parentResource: Resource;
  parent: KubeObject;
  /** The resource that the rule names. */
  resource: Resource;
  /** Returns the labels of a namespace; undefined if it does not exist. */
  labelsOf: (namespace: string) => Record<string, string> | undefined;
}

/**
 * Lists the objects that a rule selects.
 *
 * `v1` rules of a namespaced parent select only objects in its namespace, with one exception: `names` without
 * `namespace` selects these names in all namespaces. Source: metacontroller pkg/controller/common/customize/manager.go,
 * 4.17.2.
 *
 * @throws {RangeError} if the rule contradicts itself or selects another namespace
 */
export function selectRelated(rule: RelatedRule, context: RuleContext, informer: Informer): KubeObject[] {
  const problem = problemWith(rule, context);
  if (problem) throw new RangeError(`Cannot select related ${rule.resource}: ${problem}`);
  const { parent, resource } = context;
  const namespace = rule.namespace ||
    (!rule.names?.length && isConfined(context) ? parent.metadata.namespace : undefined);
  const candidates = informer.list(resource.namespaced ? namespace : undefined);
  return candidates.filter((object) => selects(rule, context, object));
}

/**
 * Tells whether a change of an object matters to the parent. A rule that {@link selectRelated} refuses selects nothing.
 */
export function matchesRule(rule: RelatedRule, context: RuleContext, object: KubeObject): boolean {
  if (problemWith(rule, context)) return false;
  const { parent, resource } = context;
  if (object.apiVersion !== rule.apiVersion || object.kind !== resource.kind) return false;
  const namespace = rule.namespace || (isConfined(context) ? parent.metadata.namespace : undefined);
  if (resource.namespaced && namespace && object.metadata.namespace !== namespace) return false;
  return selects(rule, context, object);
}

function selects(rule: RelatedRule, { labelsOf }: RuleContext, { metadata }: KubeObject): boolean {
  if (rule.names?.length) return rule.names.includes(metadata.name);
  if (rule.namespaceSelector) {
    const labels = labelsOf(metadata.namespace ?? "");
    if (!labels || !matcherOf(rule.namespaceSelector)(labels)) return false;
  }
  return matcherOf(rule.labelSelector)(metadata.labels);
}

function problemWith(rule: RelatedRule, context: RuleContext): string | undefined {
  const { names, namespace, labelSelector, namespaceSelector } = rule;
  if (names?.length && (labelSelector || namespaceSelector)) return "names and a selector are both given";
  if (namespace && namespaceSelector) return "namespace and namespaceSelector are both given";
  if (namespaceSelector && !context.resource.namespaced) return "a cluster-scoped resource has no namespaceSelector";
  if (!isConfined(context)) return undefined;
  if (namespaceSelector) return "namespaceSelector needs hook version v2";
  const own = context.parent.metadata.namespace;
  return namespace && namespace !== own ? `namespace ${namespace} is not the parent's, ${own}` : undefined;
}

/** Tells whether rules may select only objects in the parent's namespace. */
function isConfined({ version, parentResource, resource }: RuleContext): boolean {
  return version === "v1" && parentResource.namespaced && resource.namespaced;
}
