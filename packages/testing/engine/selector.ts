/** Label selectors of the Kubernetes API. @module */

/** A label selector; an empty one matches everything. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export type Labels = Readonly<Record<string, string>> | undefined;
export type Matcher = (labels: Labels) => boolean;

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
