/** Selects from the API server's OpenAPI v3 what the CRDs embed. @module */
import { readFileSync } from "node:fs";

/** An OpenAPI v3 schema, limited to what Kubernetes uses. */
export interface OpenAPISchema {
  [key: string]: unknown;
  $ref?: string;
  allOf?: OpenAPISchema[];
  type?: string;
  description?: string;
  default?: unknown;
  required?: string[];
  items?: OpenAPISchema;
  properties?: Record<string, OpenAPISchema>;
  additionalProperties?: OpenAPISchema | boolean;
}

/** Schemas by name, such as `io.k8s.api.core.v1.PodSpec`. A `$ref` points to another schema. */
export type Definitions = Record<string, OpenAPISchema>;

/** The content of the file in packages/api/data: the selected definitions, and their Kubernetes version. */
export interface EmbeddedDefinitions {
  kubernetes: string;
  definitions: Definitions;
}

const KEPT = new Set([
  "$ref",
  "allOf",
  "type",
  "format",
  "default",
  "required",
  "properties",
  "items",
  "additionalProperties",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
]);

/**
 * Keys that are removed, and why. Descriptions: with them, `kubectl apply` could not store the CRD in its annotation.
 * Enums: a value that a later Kubernetes adds must be accepted. The others are not allowed in a CRD.
 */
const DROPPED = new Set([
  "description",
  "enum",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-unions",
]);

/**
 * Defaults that the CRDs of Agent Sandbox do not have: in Go they are references, which the generator does not follow.
 */
const FOREIGN_DEFAULTS = new Set([
  "io.k8s.api.core.v1.AzureDiskVolumeSource.cachingMode",
  "io.k8s.api.core.v1.AzureDiskVolumeSource.kind",
]);

/**
 * Returns the name of the definition to which a `$ref` (or an `allOf` with one) points; undefined: the schema is
 * neither.
 */
export function referenceOf(schema: OpenAPISchema): string | undefined {
  return (schema.$ref ?? schema.allOf?.[0]?.$ref)?.replace(/^.*\//, "");
}

/**
 * Returns the named definitions and all to which they refer, sorted by name, without what a CRD cannot contain.
 *
 * @param leaves definitions that are neither followed nor included
 * @throws {RangeError} if a definition is missing, or has a key that is in neither of the lists of kept and dropped
 * keys
 */
export function pickDefinitions(all: Definitions, roots: readonly string[], leaves: readonly string[]): Definitions {
  const picked: Definitions = {};
  const pending = [...roots];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name in picked || leaves.includes(name)) continue;
    const found = all[name];
    if (!found) throw new RangeError(`Cannot pick ${name}: the API server does not describe it`);
    const definition = prune(found, name);
    picked[name] = definition;
    pending.push(...referencesIn(definition));
  }
  return Object.fromEntries(Object.entries(picked).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function prune(schema: OpenAPISchema, path: string): OpenAPISchema {
  const pruned: OpenAPISchema = {};
  for (const key of Object.keys(schema).sort()) {
    if (DROPPED.has(key) || (key === "default" && FOREIGN_DEFAULTS.has(path))) continue;
    if (!KEPT.has(key)) throw new RangeError(`Cannot pick ${path}: its key ${key} is not known`);
    pruned[key] = schema[key];
  }
  if (schema.items) pruned.items = prune(schema.items, `${path}[]`);
  if (schema.properties) {
    pruned.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, prune(property, `${path}.${name}`)]),
    );
  }
  if (typeof schema.additionalProperties === "object") {
    pruned.additionalProperties = prune(schema.additionalProperties, `${path}{}`);
  }
  return pruned;
}

function referencesIn(schema: OpenAPISchema): string[] {
  const reference = referenceOf(schema);
  const { items, properties, additionalProperties } = schema;
  const inner = [
    ...(items ? [items] : []),
    ...Object.values(properties ?? {}),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
  return [...(reference === undefined ? [] : [reference]), ...inner.flatMap(referencesIn)];
}

/** Where the definitions are kept. */
export const DATA_FILE = new URL("../../packages/api/data/kubernetes.json", import.meta.url);

/** Reads the definitions, and the Kubernetes version from which they come. */
export function readDefinitions(): EmbeddedDefinitions {
  return JSON.parse(readFileSync(DATA_FILE, "utf8"));
}
