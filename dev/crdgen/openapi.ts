/** Picks out of the API server's OpenAPI v3 what our CRDs embed. No network, no files. @module */

/** An OpenAPI v3 schema, as far as Kubernetes uses the language. */
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

/** Schemas by name, such as `io.k8s.api.core.v1.PodSpec`; `$ref`s point at one another. */
export type Definitions = Record<string, OpenAPISchema>;

/** The file in packages/api/data: what was picked, and from which Kubernetes. */
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
 * Why each of these stays behind: descriptions, because with them `kubectl apply` could not store the CRD in its
 * annotation; enums, because a value that the next Kubernetes adds must get through; the others have no place in a CRD.
 */
const DROPPED = new Set([
  "description",
  "enum",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-unions",
]);

/** Defaults that the contract's CRDs lack: in Go they are written by reference, which its generator does not follow. */
const FOREIGN_DEFAULTS = new Set([
  "io.k8s.api.core.v1.AzureDiskVolumeSource.cachingMode",
  "io.k8s.api.core.v1.AzureDiskVolumeSource.kind",
]);

/** Returns the definition that a `$ref` (or an `allOf` of one) points at, `undefined` if it is neither. */
export function referenceOf(schema: OpenAPISchema): string | undefined {
  return (schema.$ref ?? schema.allOf?.[0]?.$ref)?.replace(/^.*\//, "");
}

/**
 * Returns the named definitions and all that they refer to, sorted by name, cut down to what a CRD can say.
 *
 * @param leaves definitions that are not followed, nor taken
 * @throws {RangeError} if a definition is missing or says something that is neither known to be kept nor to be dropped
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
