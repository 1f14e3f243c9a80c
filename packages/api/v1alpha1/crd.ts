/**
 * Defines the version v1alpha1 of each CRD, by its differences from v1beta1.
 * Source: Agent Sandbox API, sections 1.2, 1.3, 1.4 and 1.6. @module
 */
import type { CustomResource } from "../crd.ts";

/** A schema of apiextensions.k8s.io/v1. */
type StructuralSchema = Record<string, unknown>;

/** Name of the version. */
export const V1ALPHA1 = "v1alpha1";

/** The parts of v1alpha1's CRD other than its schema. */
type Extras = Pick<CustomResource, "columns" | "scale" | "status">;

interface Fields {
  properties: Record<string, StructuralSchema>;
  required?: string[];
}

interface Change {
  spec?(fields: Fields): Fields;
  status?(fields: Fields): Fields;
  extras?(extras: Extras): Extras;
}

const INT32 = { type: "integer", format: "int32", minimum: 0 };

const CHANGES: Record<string, Change> = {
  Sandbox: {
    spec: (fields) =>
      added(without(fields, "operatingMode"), {
        replicas: { description: "1 runs, 0 is suspended.", ...INT32, maximum: 1, default: 1 },
      }),
    status: (fields) =>
      added(without(fields, "nodeName"), {
        replicas: { description: "1 while there is a Pod with an address.", ...INT32 },
      }),
    extras: () => ({
      status: true,
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    }),
  },
  SandboxTemplate: { spec: (fields) => without(fields, "volumeClaimTemplatesPolicy") },
  SandboxWarmPool: {
    spec({ properties, required = [] }) {
      const { default: _, ...replicas } = properties["replicas"] ?? {};
      return { properties: { ...properties, replicas }, required: ["replicas", ...required] };
    },
    status: (fields) => without(fields, "observedGeneration"),
    extras: ({ status, scale }) => ({ ...(status ? { status } : {}), ...(scale ? { scale } : {}) }),
  },
  SandboxClaim: {
    spec: (fields) =>
      added(without(fields, "warmPoolRef", "volumeClaimTemplates"), {
        sandboxTemplateRef: {
          description: "The template to make a sandbox from.",
          type: "object",
          properties: {
            name: { description: "Name of a SandboxTemplate in the same namespace.", type: "string", maxLength: 253 },
          },
          required: ["name"],
        },
        warmpool: {
          description: "The pool to take a sandbox from, by name; none: a new one; default: any pool of the template.",
          type: "string",
          maxLength: 253,
          default: "default",
        },
      }, "sandboxTemplateRef"),
    extras: () => ({ status: true }),
  },
};

/**
 * Returns the schema of v1alpha1, made from the API server's form of v1beta1's schema, and the other parts of the CRD.
 *
 * @throws {RangeError} if the kind is unknown
 */
export function v1alpha1Of(resource: CustomResource, root: StructuralSchema): { schema: StructuralSchema } & Extras {
  const change = CHANGES[resource.kind];
  if (!change) throw new RangeError(`Cannot make ${V1ALPHA1} of ${resource.kind}: it is not known`);
  const { spec, status, ...properties } = root["properties"] as Record<string, StructuralSchema>;
  // Rules of v1beta1 do not apply to writes of v1alpha1.
  const { "x-kubernetes-validations": _, ...fields } = spec ?? {};
  const { "x-kubernetes-validations": __, ...object } = root;
  const schema = {
    ...object,
    properties: {
      ...properties,
      spec: changed(fields, change.spec),
      ...(status ? { status: changed(status, change.status) } : {}),
    },
  };
  return { schema, ...change.extras?.(resource) };
}

function changed(schema: StructuralSchema, change: ((fields: Fields) => Fields) | undefined): StructuralSchema {
  return change ? { ...schema, ...change(schema as unknown as Fields) } : schema;
}

function without({ properties, required }: Fields, ...names: string[]): Fields {
  const left = Object.entries(properties).filter(([name]) => !names.includes(name));
  const needed = required?.filter((name) => !names.includes(name)) ?? [];
  return { properties: Object.fromEntries(left), ...(required ? { required: needed } : {}) };
}

function added(
  { properties, required }: Fields,
  more: Record<string, StructuralSchema>,
  ...needed: string[]
): Fields {
  const all = [...required ?? [], ...needed];
  return { properties: { ...properties, ...more }, ...(all.length > 0 ? { required: all } : {}) };
}
