/**
 * Converts a zod schema to the structural schema of a CRD. Source of the rules: apiextensions.k8s.io/v1, and what
 * kube-apiserver 1.36.3 refused in tests. @module
 */
import * as z from "zod";
import { DEFINITION } from "../../packages/api/blueprint.ts";
import { type Definitions, type OpenAPISchema, referenceOf } from "./openapi.ts";

/** A schema of apiextensions.k8s.io/v1: every field has a type, and there are no references. */
export type StructuralSchema = Record<string, unknown>;

const STRING_MAP = { type: "object", additionalProperties: { type: "string" } };
const INT_OR_STRING = { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true };
const QUANTITY_PATTERN = "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|" +
  "([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/**
 * Definitions that do not come from the API server, because its OpenAPI has less, or something else, than a CRD needs.
 */
export const BUILT_IN: Readonly<Record<string, StructuralSchema>> = {
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": INT_OR_STRING,
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { ...INT_OR_STRING, pattern: QUANTITY_PATTERN },
  // In the metadata of a template inside a PodSpec, Kubernetes accepts only labels and annotations.
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
    type: "object",
    properties: { labels: STRING_MAP, annotations: STRING_MAP },
  },
};

/** Keys that are copied unchanged, in the order in which the CRD has them. */
const PLAIN_KEYS = [
  "description",
  "type",
  "format",
  "enum",
  "minLength",
  "maxLength",
  "maxItems",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-validations",
] as const;

/** Returns the schema as OpenAPI. The definitions that it embeds are not resolved yet. */
export function toOpenAPI(schema: z.ZodType): OpenAPISchema {
  return z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" }) as OpenAPISchema;
}

/** Lists the names of the definitions that a schema embeds, each once. */
export function embeddedIn(schema: OpenAPISchema): string[] {
  const found = JSON.stringify(schema).matchAll(new RegExp(`"${DEFINITION}":"([^"]+)"`, "g"));
  return [...new Set([...found].map(([, name]) => name ?? ""))];
}

/**
 * Returns the schema with its definitions inserted, and without everything that a CRD must not contain.
 *
 * @throws {RangeError} if a definition is missing (the data file is older than the schema) or a field has no type
 */
export function toStructural(schema: OpenAPISchema, definitions: Definitions): StructuralSchema {
  const name = schema[DEFINITION] as string | undefined ?? referenceOf(schema);
  if (name !== undefined) return { ...describe(schema), ...definition(name, definitions), ...defaultOf(schema) };
  if (schema.type === undefined) throw new RangeError(`Cannot express ${JSON.stringify(schema)}: it has no type`);

  const structural: StructuralSchema = {};
  for (const key of PLAIN_KEYS) if (schema[key] !== undefined) structural[key] = schema[key];
  if (typeof schema["pattern"] === "string") structural["pattern"] = schema["pattern"].replaceAll("\\/", "/");
  Object.assign(structural, bounds(schema), defaultOf(schema));
  if (schema.items) structural["items"] = withoutDefault(toStructural(schema.items, definitions));
  return { ...structural, ...members(schema, definitions) };
}

function definition(name: string, definitions: Definitions): StructuralSchema {
  const builtIn = BUILT_IN[name];
  if (builtIn) return builtIn;
  const found = definitions[name];
  if (!found) throw new RangeError(`Cannot embed ${name}: the data file lacks it`);
  return toStructural(found, definitions);
}

/**
 * Returns an object's properties, or the schema of a map's values. A structural schema has one or the other, but zod
 * writes both for open objects.
 */
function members(schema: OpenAPISchema, definitions: Definitions): StructuralSchema {
  const { properties, additionalProperties } = schema;
  const required = schema.required ?? [];
  if (!properties) {
    if (typeof additionalProperties !== "object") return {};
    return { additionalProperties: withoutDefault(toStructural(additionalProperties, definitions)) };
  }
  const structural = Object.entries(properties).map(([name, property]) => {
    const inner = toStructural(property, definitions);
    return [name, required.includes(name) ? withoutDefault(inner) : inner];
  });
  return {
    ...(structural.length > 0 ? { properties: Object.fromEntries(structural) } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

/**
 * Removes the default. The API server publishes Go's zero values as defaults of required fields, items and map values.
 * In a CRD they would be used, so that a container without a name would be accepted.
 */
function withoutDefault({ default: _zero, ...schema }: StructuralSchema): StructuralSchema {
  return schema;
}

/** Returns the bounds that the schema sets. Zod adds the bounds of safe integers. */
function bounds({ minimum, maximum }: OpenAPISchema): StructuralSchema {
  const isAsked = (bound: unknown) => typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  return { ...(isAsked(minimum) ? { minimum } : {}), ...(isAsked(maximum) ? { maximum } : {}) };
}

/** Returns the default. An empty object is Go's zero value of a struct, and no default. */
function defaultOf({ default: value }: OpenAPISchema): StructuralSchema {
  return value === undefined || JSON.stringify(value) === "{}" ? {} : { default: value };
}

function describe({ description }: OpenAPISchema): StructuralSchema {
  return description === undefined ? {} : { description };
}
