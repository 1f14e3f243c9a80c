/** Defines the data of a CustomResourceDefinition other than its schema: names, columns and subresources. @module */

/** One column of `kubectl get`. */
interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "date";
  jsonPath: string;
  description?: string;
}

/**
 * One rule in the Common Expression Language. `self` is the new value to which the rule applies, `oldSelf` the stored
 * value.
 */
interface CelRule {
  rule: string;
  message: string;
  /** The rule also applies to creations. `oldSelf` is then an optional, which is empty at a creation. */
  optionalOldSelf?: true;
}

/** The paths of the fields that the `scale` subresource uses. */
interface ScaleSubresource {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath: string;
}

/** One of hookbox's kinds, as the API server knows it. Every kind is namespaced. */
export interface CustomResource {
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  /** Absent: the API server shows name and age. */
  columns?: readonly PrinterColumn[];
  /** Absent: the kind has no status. */
  status?: true;
  scale?: ScaleSubresource;
  /** Rules for the whole object. Of its metadata they see only the name. They also apply to writes of the status. */
  rules?: readonly CelRule[];
  /** Rules for `.spec`. */
  specRules?: readonly CelRule[];
}

/** API group of all kinds except Sandbox. */
export const EXTENSIONS_GROUP = "extensions.agents.x-k8s.io";

/** The last column of every kind that has its own columns. */
export const AGE_COLUMN = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" } as const;
