/** A fake API server: a store in memory with the kinds of hookbox, their defaults and validation, and the API. @module */
import { parse } from "yaml";
import * as z from "zod";
import type { CustomResource } from "../api/crd.ts";
import { sameJson } from "../api/objects/apply.ts";
import { groupOf, type KubeObject } from "../api/objects/objects.ts";
import { sandboxCRD, sandboxSchema } from "../api/sandbox.ts";
import { sandboxClaimCRD, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { sandboxTemplateCRD, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolCRD, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { readControllers } from "../manifests/render.ts";
import { createMemoryApi, type MemoryApi, type MemoryApiOptions } from "./api/memoryapi.ts";
import { type ChangeLog, createChangeLog, type RecordedChange } from "./api/watch.ts";
import type { FakeClock } from "./clock.ts";
import { createMemoryStore, type MemoryStore } from "./store/memory.ts";
import { StoreError, type StoreErrorCause } from "./store/store.ts";

export interface MemoryServerOptions extends AdmissionOptions {
  clock?: FakeClock;
  /** Delay until the watches of the fake Metacontroller see an object, in milliseconds. */
  watchDelay?: (object: KubeObject) => number;
  /** Namespaces that exist. @default [] */
  namespaces?: readonly string[];
  /** How many past changes a watch can still get. @default 10000 */
  window?: number;
}

export interface MemoryServer {
  store: MemoryStore;
  /** Makes a new connection to the store. */
  connect(options?: MemoryApiOptions): MemoryApi;
  /** Calls `listener` for every change from now on. */
  onChange(listener: (change: RecordedChange) => void): void;
}

interface AdmissionOptions {
  /** True: the CRDs set a first status on objects. @default true */
  isPreset?: boolean | undefined;
}

const DEFAULT_WINDOW = 10_000;
const KINDS: CustomResource[] = [sandboxCRD, sandboxClaimCRD, sandboxTemplateCRD, sandboxWarmPoolCRD];
const installed = [...KINDS.map(definitionOf), ...readControllers().map((text) => parse(text) as KubeObject)];

/** Keeps a deleted Pod until the fake kubelet has stopped it. A real API server needs no finalizer for that. */
export const KUBELET_FINALIZER = "testing.hookbox/kubelet";

const SCHEMAS: Record<string, z.ZodObject> = {
  Sandbox: sandboxSchema,
  SandboxClaim: sandboxClaimSchema,
  SandboxTemplate: sandboxTemplateSchema,
  SandboxWarmPool: sandboxWarmPoolSchema,
};
/** Source: k8s.io/apimachinery/pkg/util/validation, IsDNS1123Subdomain. */
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
  "must start and end with an alphanumeric character";
const LONGEST_NAME = 253;

/** Makes a server on which hookbox's CRDs and controllers are installed. */
export async function createMemoryServer(options: MemoryServerOptions = {}): Promise<MemoryServer> {
  const { clock, watchDelay, namespaces = [], window = DEFAULT_WINDOW } = options;
  const changes: ChangeLog = createChangeLog(window);
  const store = createMemoryStore({
    ...(clock && { clock }),
    watchDelay,
    admit: (object, old) => admit(object, old, options),
    onChange: changes.record,
  });
  for (const object of installed) await store.put(object);
  for (const name of namespaces) await store.put({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return {
    store,
    connect: (options) => createMemoryApi(store, changes, options),
    onChange: (listener) => void changes.subscribe(listener),
  };
}

/** Makes a CRD without its schemas, which are not used here: to parse them as YAML would take seconds. */
function definitionOf({ group, version, kind, plural, status }: CustomResource): KubeObject {
  const versions = [{ name: version, served: true, storage: true, subresources: status ? { status: {} } : {} }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names: { kind, plural }, versions },
  };
}

/**
 * Sets the defaults of an object that is about to be stored, or refuses the object.
 *
 * @throws {StoreError} 422 if the object is invalid
 */
function admit(
  object: KubeObject,
  old: KubeObject | undefined,
  { isPreset = true }: AdmissionOptions = {},
): KubeObject {
  const schema = SCHEMAS[object.kind];
  if (!old) checkName(object);
  if (!schema) return old ? object : withFirstStatus(object);
  const { data, error } = schema.safeParse(old || !isPreset ? object : withPresetStatus(object, schema));
  if (error) throw invalid(object, error.issues.map((issue) => causeOf(issue, object)));
  const admitted = data as KubeObject;
  if (old && object.kind === "Sandbox") checkVolumes(admitted, old);
  return admitted;
}

/** Sets the default that a CRD has for the whole status. */
function withPresetStatus(object: KubeObject, { shape }: z.ZodObject): KubeObject {
  const { default: status } = (shape["status"] as z.ZodType | undefined)?.meta() ?? {};
  return status === undefined ? object : { ...object, status };
}

function withFirstStatus(object: KubeObject): KubeObject {
  const { kind, metadata } = object;
  if (kind === "Namespace") return { ...object, status: { phase: "Active" } };
  if (kind === "PersistentVolumeClaim") return { ...object, status: { phase: "Pending" } };
  if (kind !== "Pod") return object;
  const finalizers = [...(metadata["finalizers"] as string[] | undefined) ?? [], KUBELET_FINALIZER];
  return { ...object, metadata: { ...metadata, finalizers }, status: { phase: "Pending", qosClass: "BestEffort" } };
}

function checkName(object: KubeObject): void {
  const { name } = object.metadata;
  if (NAME.test(name) && name.length <= LONGEST_NAME) return;
  const why = name.length > LONGEST_NAME ? `must be no more than ${LONGEST_NAME} characters` : NAME_RULE;
  const message = `Invalid value: ${JSON.stringify(name)}: ${why}`;
  throw invalid(object, [{ reason: "FieldValueInvalid", message, field: "metadata.name" }]);
}

/** Checks the CEL rule in the CRD of Sandbox. */
function checkVolumes(sandbox: KubeObject, old: KubeObject): void {
  const volumesOf = ({ spec }: KubeObject) => (spec as { volumeClaimTemplates?: unknown }).volumeClaimTemplates;
  if (sameJson(volumesOf(sandbox), volumesOf(old))) return;
  const message = "Invalid value: volumeClaimTemplates is immutable";
  throw invalid(sandbox, [{ reason: "FieldValueInvalid", message, field: "spec" }]);
}

function causeOf(issue: z.core.$ZodIssue, object: KubeObject): StoreErrorCause {
  const field = issue.path.join(".").replace(/\.(\d+)(?=\.|$)/g, "[$1]");
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], object);
  if (value === undefined) return { reason: "FieldValueRequired", message: "Required value", field };
  if (issue.code === "invalid_value") {
    const supported = issue.values.map((one) => JSON.stringify(one)).join(", ");
    const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`;
    return { reason: "FieldValueNotSupported", message, field };
  }
  return { reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value)}: ${issue.message}`, field };
}

function invalid({ apiVersion, kind, metadata }: KubeObject, causes: StoreErrorCause[]): StoreError {
  const group = groupOf(apiVersion);
  const texts = causes.map(({ field, message }) => `${field}: ${message}`);
  const why = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const title = group ? `${kind}.${group}` : kind;
  return new StoreError(422, "Invalid", `${title} ${JSON.stringify(metadata.name)} is invalid: ${why}`, causes);
}
