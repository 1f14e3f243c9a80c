/** Which resources the memory store serves: a few built-in ones and those of the CRDs that are put into it. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { groupOf, type Resource } from "./store.ts";

/** A served resource and where its objects are kept: one place for all versions. */
export interface ServedResource extends Resource {
  place: string;
  /** Whether `metadata.generation` counts changes of its objects. */
  hasGeneration: boolean;
  custom: boolean;
}

const CLUSTER = "cluster";
const STATUS = "status";
const GENERATION = "generation";

/** apiVersion, kind, plural, then what is true of it. */
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

/** The built-in resources. */
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

/** Names a resource as the API server does in its messages: plural, and group unless it is the core one. */
export function titleOf({ plural, apiVersion }: Resource): string {
  return groupOf(apiVersion) ? `${plural}.${groupOf(apiVersion)}` : plural;
}

/** Names a kind as the API server does in its messages. */
export function kindTitleOf({ kind, apiVersion }: Resource): string {
  return groupOf(apiVersion) ? `${kind}.${groupOf(apiVersion)}` : kind;
}

interface CrdSpec {
  group: string;
  scope: string;
  names: { kind: string; plural: string };
  versions: { name: string; served: boolean; subresources?: { status?: object } }[];
}

/** The resources of a CustomResourceDefinition, one for each served version; objects are shown in any of them unconverted. */
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
