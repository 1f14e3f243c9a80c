/**
 * Builds CustomResourceDefinitions, as data and as the files in crds/ and deploy/v1alpha1/crds/, and finds the files
 * that are not up to date. @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { stringify } from "yaml";
import type * as z from "zod";
import type { CustomResource } from "../../packages/api/crd.ts";
import { sandboxCRD, sandboxSchema } from "../../packages/api/sandbox.ts";
import { sandboxClaimCRD, sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { sandboxTemplateCRD, sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { sandboxWarmPoolCRD, sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";
import { type Definitions, readDefinitions } from "./openapi.ts";
import { type StructuralSchema, toOpenAPI, toStructural } from "./structural.ts";
import { V1ALPHA1, v1alpha1Of } from "../../packages/api/v1alpha1/crd.ts";

const HEADER = "# Made from packages/api/ by npm run crds. Not to be edited.\n";

/**
 * The conversion for CRDs that also serve v1alpha1: the API server calls the conversion hook. Source: deploy/v1alpha1.
 */
const WEBHOOK = {
  strategy: "Webhook",
  webhook: {
    conversionReviewVersions: ["v1"],
    clientConfig: { service: { namespace: "hookbox-system", name: "conversion", path: "/convert", port: 443 } },
  },
};

interface Kind {
  resource: CustomResource;
  schema: z.ZodType;
}

/** Every hookbox kind, in the order in which they build on each other. */
export const kinds: readonly Kind[] = [
  { resource: sandboxCRD, schema: sandboxSchema },
  { resource: sandboxTemplateCRD, schema: sandboxTemplateSchema },
  { resource: sandboxWarmPoolCRD, schema: sandboxWarmPoolSchema },
  { resource: sandboxClaimCRD, schema: sandboxClaimSchema },
];

/**
 * Returns the CRD of a kind: v1beta1, served and stored, without conversion.
 *
 * @param withV1alpha1 whether v1alpha1 is also served, and converted by hookbox's conversion hook; the caller must
 * still add the certificate authority
 */
export function buildCRD({ resource, schema }: Kind, definitions: Definitions, withV1alpha1 = false) {
  const { group, version, kind, plural, singular, shortNames, categories } = resource;
  const root = rootSchema(resource, toStructural(toOpenAPI(schema), definitions));
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories },
      scope: "Namespaced",
      conversion: withV1alpha1 ? WEBHOOK : { strategy: "None" },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(resource.columns ? { additionalPrinterColumns: resource.columns } : {}),
          ...subresources(resource),
          schema: { openAPIV3Schema: root },
        },
        ...withV1alpha1 ? [v1alpha1Version(resource, root)] : [],
      ],
    },
  };
}

function v1alpha1Version(resource: CustomResource, root: StructuralSchema) {
  const { group, kind } = resource;
  const { schema, ...extras } = v1alpha1Of(resource, root);
  return {
    name: V1ALPHA1,
    served: true,
    storage: false,
    deprecated: true,
    deprecationWarning: `${group}/${V1ALPHA1} ${kind} is deprecated; use ${group}/v1beta1 ${kind} instead`,
    ...subresources(extras),
    schema: { openAPIV3Schema: schema },
  };
}

/** Returns the path of a kind's file, relative to the folder of the CRDs. */
export function crdFile({ group, plural }: CustomResource): string {
  return `${group}_${plural}.yaml`;
}

/** Returns the text of a kind's file. */
function crdText(kind: Kind, definitions: Definitions, withV1alpha1 = false): string {
  // With YAML 1.1, texts that Kubernetes' parser would read as a boolean or a time are quoted.
  const options = { version: "1.1", aliasDuplicateObjects: false, lineWidth: 0 } as const;
  return HEADER + stringify(buildCRD(kind, definitions, withV1alpha1), options);
}

function subresources({ status, scale }: Pick<CustomResource, "status" | "scale">) {
  return status ? { subresources: { status: {}, ...(scale ? { scale } : {}) } } : {};
}

/** The schema of the whole object. The API server itself checks apiVersion, kind and metadata. */
function rootSchema(
  { rules, specRules }: CustomResource,
  { description, properties }: StructuralSchema,
): StructuralSchema {
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
    ...(rules ? { "x-kubernetes-validations": rules } : {}),
  };
}

/** The folder of the CRDs. */
export const CRD_FOLDER = new URL("../../crds/", import.meta.url);

/** The folder of the CRDs that also serve v1alpha1. */
export const V1ALPHA1_CRD_FOLDER = new URL("../../deploy/v1alpha1/crds/", import.meta.url);

/** With this annotation on a CRD, cert-manager writes the CA certificate of the conversion hook into it. */
const CERTIFIED = {
  target: { kind: "CustomResourceDefinition" },
  patch: stringify([{
    op: "add",
    path: "/metadata/annotations",
    value: { "cert-manager.io/inject-ca-from": "hookbox-system/hookbox-conversion" },
  }]),
};

/**
 * Returns the content that each file should have, by file name. @param withV1alpha1 of deploy/v1alpha1/crds/, otherwise
 * of crds/
 */
export function desiredFiles(withV1alpha1 = false): Map<string, string> {
  const { definitions } = readDefinitions();
  const crds = kinds.map((kind) => [crdFile(kind.resource), crdText(kind, definitions, withV1alpha1)] as const);
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: crds.map(([name]) => name).sort(),
    ...withV1alpha1 ? { patches: [CERTIFIED] } : {},
  };
  return new Map([...crds, ["kustomization.yaml", stringify(kustomization)]]);
}

/** Lists the files below `folder` that are missing, differ or should not exist, sorted by name. */
export function staleFiles(desired: ReadonlyMap<string, string>, folder: URL): string[] {
  const present = new Set(listFolder(folder));
  const names = new Set([...desired.keys(), ...present]);
  const isStale = (name: string) =>
    !present.has(name) || readFileSync(new URL(name, folder), "utf8") !== desired.get(name);
  return [...names].filter(isStale).sort();
}

/** Returns a message that says how to update stale files; undefined: there are none. */
export function complaint(stale: readonly string[]): string | undefined {
  if (stale.length === 0) return undefined;
  return `CRDs are not up to date with packages/api: ${stale.join(", ")}; run npm run crds`;
}

function listFolder(folder: URL): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
