/** What a CustomResourceDefinition says beside its schema: names, columns, subresources. Data only. @module */

/** One column of `kubectl get`. */
export interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "date";
  jsonPath: string;
  description?: string;
}

/** One rule in the Common Expression Language: `self` is what it stands on, `oldSelf` what is stored. */
export interface CelRule {
  rule: string;
  message: string;
  /** The rule also holds for creations. `oldSelf` is an optional then, and empty in a creation. */
  optionalOldSelf?: true;
}

/** Where the `scale` subresource finds its fields. */
export interface ScaleSubresource {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath: string;
}

/** A kind of ours as the API server knows it. Every kind is namespaced. */
export interface CustomResource {
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  /** Absent: the API server shows the name and the age. */
  columns?: readonly PrinterColumn[];
  /** Absent: the kind has no status at all. */
  status?: true;
  scale?: ScaleSubresource;
  /** Rules on the whole object, of whose metadata they see only the name. They also hold for writes of the status. */
  rules?: readonly CelRule[];
  /** Rules on `.spec`. */
  specRules?: readonly CelRule[];
}

/** Group of everything but Sandbox itself. */
export const EXTENSIONS_GROUP = "extensions.agents.x-k8s.io";

/** The last column of every kind that has columns. */
export const AGE_COLUMN = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" } as const;
