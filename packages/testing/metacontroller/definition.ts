/** Reads a CompositeController or DecoratorController into one common type. No I/O. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { LabelSelector } from "../store/selectors.ts";

export const API_VERSION = "metacontroller.k8s.io/v1alpha1";

export interface HookSpec {
  version?: "v1" | "v2";
  webhook?: {
    url?: string;
    service?: { name: string; namespace: string; port?: number; protocol?: string };
    path?: string;
    /** A Go duration such as `10s`. */
    timeout?: string;
    responseUnMarshallMode?: "loose" | "strict";
    [other: string]: unknown;
  };
}

export interface ParentRule {
  apiVersion: string;
  resource: string;
  labelSelector?: LabelSelector;
  annotationSelector?: {
    matchAnnotations?: Record<string, string>;
    matchExpressions?: NonNullable<LabelSelector["matchExpressions"]>;
  };
  ignoreStatusChanges?: boolean;
}

export interface ChildRule {
  apiVersion: string;
  resource: string;
  updateStrategy?: { method?: string };
}

export type HookName = "sync" | "finalize" | "customize";

export interface Definition {
  kind: "CompositeController" | "DecoratorController";
  name: string;
  /** The controller object at its start. */
  object: KubeObject;
  /** The controller object as hooks get it. */
  sent: KubeObject;
  parents: ParentRule[];
  children: ChildRule[];
  hooks: Partial<Record<HookName, HookSpec>>;
  generateSelector: boolean;
  resyncPeriodSeconds?: number;
  /** The finalizer on each parent if there is a finalize hook. */
  finalizer: string;
}

interface Spec {
  parentResource?: ParentRule;
  resources?: ParentRule[];
  childResources?: ChildRule[];
  attachments?: ChildRule[];
  hooks?: Partial<Record<HookName, HookSpec>>;
  generateSelector?: boolean;
  resyncPeriodSeconds?: number;
  endpointConfigs?: unknown[];
}

/**
 * Reads a controller object.
 *
 * @throws {RangeError} if it uses what this fake does not support: rolling updates of composites, endpointConfigs
 */
export function definitionOf(object: KubeObject): Definition {
  const spec = (object["spec"] ?? {}) as Spec;
  const { name } = object.metadata;
  const composite = object.kind === "CompositeController";
  const children = (composite ? spec.childResources : spec.attachments) ?? [];
  if (!spec.hooks) throw new RangeError(`Cannot start ${object.kind} ${name}: spec.hooks is missing`);
  if (spec.endpointConfigs?.length) throw unsupported(object, "endpointConfigs");
  const rolling = children.find(({ updateStrategy }) => updateStrategy?.method?.startsWith("Rolling"));
  if (composite && rolling) throw unsupported(object, `update strategy ${rolling.updateStrategy?.method}`);
  return {
    kind: composite ? "CompositeController" : "DecoratorController",
    name,
    object,
    sent: sentOf(object),
    parents: composite ? (spec.parentResource ? [spec.parentResource] : []) : spec.resources ?? [],
    children,
    hooks: spec.hooks,
    generateSelector: spec.generateSelector ?? false,
    ...(spec.resyncPeriodSeconds !== undefined && { resyncPeriodSeconds: spec.resyncPeriodSeconds }),
    finalizer: `metacontroller.io/${object.kind.toLowerCase()}-${name}`,
  };
}

/** Metacontroller writes its own types as JSON, where a Go struct is never absent, even if it is empty. */
function sentOf(object: KubeObject): KubeObject {
  const { childResources, ...spec } = object["spec"] as Spec;
  const children = childResources?.map((rule) =>
    rule.updateStrategy ? { ...rule, updateStrategy: { statusChecks: {}, ...rule.updateStrategy } } : rule
  );
  return { ...object, spec: { ...spec, ...(children && { childResources: children }) }, status: {} };
}

function unsupported(object: KubeObject, what: string): RangeError {
  return new RangeError(`Cannot start ${object.kind} ${object.metadata.name}: the fake Metacontroller has no ${what}`);
}
