/**
 * Computes the content of the files in crds/ and deploy/v1alpha1/crds/, and finds those that are not up to date.
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { stringify } from "yaml";
import { crdFile, crdText, kinds } from "./crd.ts";
import { readDefinitions } from "./openapi.ts";

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
