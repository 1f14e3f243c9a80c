/** The resources that the memory store serves: some built-in ones, and those of the CRDs in it. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { groupOf, type Resource } from "./store.ts";

/** A served resource. `place` identifies where its objects are stored, which all versions share. */
export interface ServedResource extends Resource {
  place: string;
  /** Tells whether `metadata.generation` counts changes of its objects. */
  hasGeneration: boolean;
  custom: boolean;
}

const CLUSTER = "cluster";
const STATUS = "status";
const GENERATION = "generation";

/** apiVersion, kind, plural, then traits. */
const BUILT_IN = [
  ["v1", "Namespace", "namespaces", CLUSTER, STATUS],
  ["v1", "Node", "nodes", CLUSTER, STATUS],
  ["v1", "PersistentVolume", "persistentvolumes", CLUSTER, STATUS],
  ["v1", "Pod", "pods", STATUS, GENERATION],
  ["v1", "Service", "services", STATUS],
  ["v1", "PersistentVolumeClaim", "persistentvolumeclaims", STATUS],
  ["v1", "ConfigMap", "configmaps"],
  ["v1", "Secret", "secrets"],
  ["v1", "Event", "events"],
  ["v1", "ServiceAccount", "serviceaccounts"],
  ["v1", "ResourceQuota", "resourcequotas", STATUS],
  ["storage.k8s.io/v1", "StorageClass", "storageclasses", CLUSTER],
  ["apps/v1", "Deployment", "deployments", STATUS, GENERATION],
  ["networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", GENERATION],
  ["coordination.k8s.io/v1", "Lease", "leases"],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", CLUSTER, STATUS, GENERATION],
  ["metacontroller.k8s.io/v1alpha1", "CompositeController", "compositecontrollers", CLUSTER, STATUS, GENERATION],
  ["metacontroller.k8s.io/v1alpha1", "DecoratorController", "decoratorcontrollers", CLUSTER, STATUS, GENERATION],
] as const;

/** Returns the built-in resources. */
export function builtInResources(): ServedResource[] {
  return BUILT_IN.map(([apiVersion, kind, plural, ...traits]) => ({
    apiVersion,
    kind,
    plural,
    place: placeOf(apiVersion, plural),
    namespaced: !(traits as string[]).includes(CLUSTER),
    hasStatus: (traits as string[]).includes(STATUS),
    hasGeneration: (traits as string[]).includes(GENERATION),
    custom: false,
  }));
}

/** Returns the name of a resource in the API server's messages: plural, and group unless it is the core group. */
export function titleOf({ plural, apiVersion }: Resource): string {
  return groupOf(apiVersion) ? `${plural}.${groupOf(apiVersion)}` : plural;
}

/** Returns the name of a kind in the API server's messages: kind, and group unless it is the core group. */
export function kindTitleOf({ kind, apiVersion }: Resource): string {
  return groupOf(apiVersion) ? `${kind}.${groupOf(apiVersion)}` : kind;
}

interface CrdSpec {
  group: string;
  scope: string;
  names: { kind: string; plural: string };
  versions: { name: string; served: boolean; subresources?: { status?: object } }[];
}

/**
 * Returns the resources of a CustomResourceDefinition, one for each served version. Objects are not converted between
 * versions.
 */
export function resourcesOfCrd(crd: KubeObject): ServedResource[] {
  const { group, scope, names, versions } = crd["spec"] as CrdSpec;
  return versions.filter(({ served }) => served).map(({ name, subresources }) => ({
    apiVersion: `${group}/${name}`,
    kind: names.kind,
    plural: names.plural,
    place: placeOf(`${group}/${name}`, names.plural),
    namespaced: scope === "Namespaced",
    hasStatus: subresources?.status !== undefined,
    hasGeneration: true,
    custom: true,
  }));
}

function placeOf(apiVersion: string, plural: string): string {
  return `${plural}.${groupOf(apiVersion)}`;
}
