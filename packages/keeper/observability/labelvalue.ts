/** Values of metrics' labels that are names somebody else has written. Pure. @module */

/** What stands for a name that nobody knows. Source: Agent Sandbox API, 5.1. */
export const UNKNOWN_NAME = "__unknown__";

/** No object of Kubernetes has a longer name. */
const LONGEST_NAME = 253;

/** Returns a name as a label's value: one that no object can have, an annotation of a megabyte, say, is not known. */
export function labelValue(name: string): string {
  return name.length > LONGEST_NAME ? UNKNOWN_NAME : name;
}
