/** Limits metric labels whose values are names that users write. @module */

/** Label value for an unknown name. Source: Agent Sandbox API, 5.1. */
export const UNKNOWN_NAME = "__unknown__";

/** No object of Kubernetes has a longer name. */
const LONGEST_NAME = 253;

/**
 * Returns a name as the value of a label. A name that is too long for any object, such as an annotation of a megabyte,
 * counts as unknown.
 */
export function labelValue(name: string): string {
  return name.length > LONGEST_NAME ? UNKNOWN_NAME : name;
}
