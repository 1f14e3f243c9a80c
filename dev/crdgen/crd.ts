/** Builds a CustomResourceDefinition as plain data and as the text of its file. @module */
import { stringify } from "yaml";
import type { CustomResource } from "../../packages/api/crd.ts";
import type { Kind } from "./kinds.ts";
import type { Definitions } from "./openapi.ts";
import { type StructuralSchema, toOpenAPI, toStructural } from "./structural.ts";

const HEADER = "# Made from packages/api/ by npm run crds. Not to be edited.\n";

/** Returns the CRD of a kind: one version, served and stored, nothing to convert. */
export function buildCRD({ resource, schema }: Kind, definitions: Definitions) {
  const { group, version, kind, plural, singular, shortNames, categories } = resource;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories },
      scope: "Namespaced",
      conversion: { strategy: "None" },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(resource.columns ? { additionalPrinterColumns: resource.columns } : {}),
          ...subresources(resource),
          schema: { openAPIV3Schema: rootSchema(resource, toStructural(toOpenAPI(schema), definitions)) },
        },
      ],
    },
  };
}

/** Returns the path of a kind's file below the folder of the CRDs. */
export function crdFile({ group, plural }: CustomResource): string {
  return `${group}_${plural}.yaml`;
}

/** Returns the text of a kind's file. */
export function crdText(kind: Kind, definitions: Definitions): string {
  // YAML 1.1 quotes what Kubernetes' parser would read as a boolean or a time.
  const options = { version: "1.1", aliasDuplicateObjects: false, lineWidth: 0 } as const;
  return HEADER + stringify(buildCRD(kind, definitions), options);
}

function subresources({ status, scale }: CustomResource) {
  return status ? { subresources: { status: {}, ...(scale ? { scale } : {}) } } : {};
}

/** The whole object. The API server checks apiVersion, kind and metadata itself. */
function rootSchema({ specRules }: CustomResource, { description, properties }: StructuralSchema): StructuralSchema {
  const { spec, status } = properties as Record<string, StructuralSchema>;
  return {
    description,
    type: "object",
    properties: {
      apiVersion: { description: "Group and version of this schema.", type: "string" },
      kind: { description: "The kind of object, in CamelCase.", type: "string" },
      metadata: { type: "object" },
      spec: { ...spec, ...(specRules ? { "x-kubernetes-validations": specRules } : {}) },
      ...(status ? { status } : {}),
    },
    required: ["spec"],
  };
}
