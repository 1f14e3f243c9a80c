/** Label and field selectors of the Kubernetes API. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { StoreError } from "./store.ts";

/** A label selector; an empty one matches everything. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

type Labels = Readonly<Record<string, string>> | undefined;
export type Matcher = (labels: Labels) => boolean;

export type ObjectMatcher = (object: KubeObject) => boolean;

const SET = /^([^\s!=,()]+)\s+(in|notin)\s*\(([^)]*)\)$/;
const EQUAL = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s=,()]*)$/;
const EXISTS = /^(!?)\s*([^\s!=,()]+)$/;
/** Fields in field selectors of a kind, in addition to `metadata.name` and `metadata.namespace`. */
const FIELDS: Record<string, string[]> = {
  Pod: ["spec.nodeName", "status.phase", "status.podIP"],
  Event: ["involvedObject.name", "involvedObject.kind", "involvedObject.uid", "reason", "type"],
};

/**
 * Makes a function that tells whether labels match a selector; an absent selector matches everything.
 *
 * @throws {RangeError} if an operator is unknown, or its values do not fit the operator
 */
export function matcherOf(selector: LabelSelector | undefined | null): Matcher {
  const wanted = Object.entries(selector?.matchLabels ?? {});
  const expressions = (selector?.matchExpressions ?? []).map(expression);
  return (labels) =>
    wanted.every(([key, value]) => valueOf(labels, key) === value) && expressions.every((matches) => matches(labels));
}

/**
 * Makes a function that tells whether an object matches the selectors of a list or a watch.
 *
 * @throws {StoreError} 400 if a selector is invalid, or uses a field that the kind does not support
 */
export function objectMatcher(kind: string, query: Record<string, string>): ObjectMatcher {
  const matchesLabels = matcherOf({ matchExpressions: labelExpressions(query["labelSelector"] ?? "") });
  const matchesFields = fieldMatchers(kind, query["fieldSelector"] ?? "");
  return (object) => matchesLabels(object.metadata.labels) && matchesFields.every((matches) => matches(object));
}

/** Makes the function for one expression. `NotIn` and `DoesNotExist` match objects without the key. */
function expression({ key, operator, values = [] }: { key: string; operator: string; values?: string[] }): Matcher {
  const listed = (labels: Labels) => values.includes(valueOf(labels, key) ?? "") && valueOf(labels, key) !== undefined;
  const wantsValues = operator === "In" || operator === "NotIn";
  if (wantsValues !== values.length > 0) {
    throw new RangeError(`Cannot use selector on ${key}: ${operator} with ${values.length} values`);
  }
  switch (operator) {
    case "In":
      return listed;
    case "NotIn":
      return (labels) => !listed(labels);
    case "Exists":
      return (labels) => valueOf(labels, key) !== undefined;
    case "DoesNotExist":
      return (labels) => valueOf(labels, key) === undefined;
    default:
      throw new RangeError(`Cannot use selector on ${key}: unknown operator ${operator}`);
  }
}

function valueOf(labels: Labels, key: string): string | undefined {
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

type Expression = NonNullable<LabelSelector["matchExpressions"]>[number];

function labelExpressions(text: string): Expression[] {
  return text.split(/,(?![^(]*\))/).map((part) => part.trim()).filter(Boolean).map((part) => {
    const [, setKey = "", operator, list = ""] = SET.exec(part) ?? [];
    if (operator) {
      const values = list.split(",").map((value) => value.trim());
      return { key: setKey, operator: operator === "in" ? "In" : "NotIn", values };
    }
    const [, key = "", sign, value = ""] = EQUAL.exec(part) ?? [];
    if (sign) return { key, operator: sign === "!=" ? "NotIn" : "In", values: [value] };
    const [, not, existing] = EXISTS.exec(part) ?? [];
    if (existing) return { key: existing, operator: not ? "DoesNotExist" : "Exists" };
    throw new StoreError(400, "BadRequest", `unable to parse requirement: "${part}"`);
  });
}

function fieldMatchers(kind: string, text: string): ObjectMatcher[] {
  return text.split(",").filter(Boolean).map((part) => {
    const [, field = "", sign = "", value = ""] = EQUAL.exec(part.trim()) ?? [];
    if (!sign) throw new StoreError(400, "BadRequest", `invalid field selector: "${part}"`);
    if (!["metadata.name", "metadata.namespace", ...FIELDS[kind] ?? []].includes(field)) {
      throw new StoreError(400, "BadRequest", `field label not supported: ${field}`);
    }
    return (object) => (textAt(object, field) === value) === (sign !== "!=");
  });
}

function textAt(object: KubeObject, field: string): string {
  const at = (value: unknown, key: string) => (value as Record<string, unknown> | undefined)?.[key];
  return String(field.split(".").reduce(at, object as unknown) ?? "");
}
