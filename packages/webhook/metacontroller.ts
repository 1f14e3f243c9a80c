/**
 * The protocol between Metacontroller and hooks, `version: v2`: schemas, types, and limits of `resyncAfterSeconds`.
 * Source: Metacontroller 4.17.2, pkg/controller/{composite,decorator,common/customize}/api/v2.
 * @module
 */
import { parseExactly } from "../api/objects/json.ts";
import * as z from "zod";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";
import { kubeObjectSchema, objectMetaSchema } from "../api/objects/schemas.ts";

/**
 * How long Metacontroller waits for an answer of `sync`, in milliseconds. The manifests of our controllers set the same
 * `timeout`.
 */
export const SYNC_TIMEOUT_MS = 10_000;

/** Objects by kind key (see {@link kindKey}), then by `<namespace>/<name>` (`<name>` if cluster-scoped). */
const objectMapSchema = z.record(z.string(), z.record(z.string(), kubeObjectSchema));
export type ObjectMap = z.infer<typeof objectMapSchema>;

/**
 * What a hook receives: a parent, its children (of a decorator: its attachments), and the related objects that the
 * answer of the customize hook selects.
 */
export interface Observed<Parent> {
  parent: Parent;
  children: ObjectMap;
  related: ObjectMap;
  finalizing: boolean;
}

/** The answer of a composite hook. Metacontroller deletes each observed child that is not in `children`. */
export interface Desired<Status> {
  /** Replaces the parent's whole status. */
  status: Status;
  children: DesiredObject[];
  /** Seconds until the next call, above 0; may have a fraction. Absent: the next call comes when an object changes. */
  resyncAfterSeconds?: number;
  /**
   * The reason for each deletion: why an observed child is not in `children`, by {@link childKey}. Only for the guard.
   */
  deletions?: Readonly<Record<string, string>>;
}

/** The answer of a decorator hook. `null` in a map deletes the key; an absent or null status leaves the status as it is. */
export interface Decorated<Status> {
  labels?: Record<string, string | null>;
  annotations?: Record<string, string | null>;
  status?: Status | null;
  attachments: DesiredObject[];
  resyncAfterSeconds?: number;
  deletions?: Readonly<Record<string, string>>;
}

/** One rule of a customize answer. `names` and the selectors exclude each other. */
export interface RelatedRule {
  apiVersion: string;
  resource: string;
  namespace?: string;
  names?: string[];
  labelSelector?: {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  };
}

/**
 * Parses the request of a composite sync or finalize hook. Refuses a request without `children`: there is no default.
 */
export function compositeRequestSchema<Parent>(parent: z.ZodType<Parent>): z.ZodType<Observed<Parent>> {
  return z.object({ parent, children: objectMapSchema, related: objectMapSchema, finalizing: z.boolean() });
}

/** Parses the request of a decorator hook into the same shape: `object` is the parent, `attachments` its children. */
export function decoratorRequestSchema<Parent>(parent: z.ZodType<Parent>): z.ZodType<Observed<Parent>> {
  return z
    .object({ object: parent, attachments: objectMapSchema, related: objectMapSchema, finalizing: z.boolean() })
    .transform(({ object, attachments, related, finalizing }) => ({
      parent: object,
      children: attachments,
      related,
      finalizing,
    }));
}

/** Parses the request of a customize hook; the key is `parent` for decorators too. */
export function customizeRequestSchema<Parent>(parent: z.ZodType<Parent>): z.ZodType<{ parent: Parent }> {
  return z.object({ parent });
}

const desiredObjectSchema = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: objectMetaSchema.extend({ name: z.string().min(1) }),
});
const resyncSchema = z.number().positive().optional();
const changesSchema = z.record(z.string(), z.string().nullable()).optional();

/** The answer of a composite hook as sent: Metacontroller refuses unknown fields, and so does this schema. */
export const compositeAnswerSchema = z.strictObject({
  status: z.looseObject({}),
  children: z.array(desiredObjectSchema),
  resyncAfterSeconds: resyncSchema,
});

/** The answer of a decorator hook as sent. */
export const decoratorAnswerSchema = z.strictObject({
  labels: changesSchema,
  annotations: changesSchema,
  status: z.looseObject({}).nullable().optional(),
  attachments: z.array(desiredObjectSchema),
  resyncAfterSeconds: resyncSchema,
});

/** The answer of a customize hook as sent. */
export const customizeAnswerSchema = z.strictObject({
  relatedResources: z.array(z.looseObject({ apiVersion: z.string().min(1), resource: z.string().min(1) })),
});

/**
 * Shortest delay that the guard allows, in seconds: long enough for Metacontroller to apply the answer first. With a
 * shorter delay in each answer, a hook would be called in a busy loop.
 */
export const SHORTEST_RESYNC_SECONDS = 0.03;
/**
 * Longest delay that the guard allows, in seconds. Metacontroller counts nanoseconds in an int64, so a delay of 293
 * years becomes negative, which means "now".
 */
export const LONGEST_RESYNC_SECONDS = 9e9;
/**
 * Shortest delay with which our hooks wait for a point in time, in seconds. With a shorter delay, a timer could fire
 * before the clock has reached this point.
 */
export const SHORTEST_WAIT_SECONDS = 0.05;
/** Longest delay in the answers of our hooks, in seconds. No hook needs a longer delay. */
export const LONGEST_WAIT_SECONDS = 86_400;

/**
 * Returns the shortest of the delays that are defined, in seconds. It is at least {@link SHORTEST_RESYNC_SECONDS}, and
 * at most {@link LONGEST_WAIT_SECONDS}. Undefined: no delay is defined.
 */
export function soonestResync(first: number, ...waits: number[]): number;
export function soonestResync(...waits: (number | undefined)[]): number | undefined;
export function soonestResync(...waits: (number | undefined)[]): number | undefined {
  const known = waits.filter((seconds) => seconds !== undefined);
  return known.length === 0 ? undefined : Math.max(Math.min(...known, LONGEST_WAIT_SECONDS), SHORTEST_RESYNC_SECONDS);
}

/** Returns the key of a kind in an {@link ObjectMap}: `Pod.v1`, `Sandbox.agents.x-k8s.io/v1beta1`. */
export function kindKey(object: { apiVersion: string; kind: string }): string {
  return `${object.kind}.${object.apiVersion}`;
}

/** Returns the key under which {@link Desired.deletions} names a child: `Pod/demo`. */
export function childKey(object: { kind: string; metadata: { name: string } }): string {
  return `${object.kind}/${object.metadata.name}`;
}

/**
 * Lists the objects of one kind, parsed, in order of name.
 *
 * @param key as {@link kindKey} returns it
 * @throws {RangeError} if the key is absent. Metacontroller sends a key for every child rule, also if there are no such
 *   children. An absent key means that the controller has no rule for the kind
 */
export function listKind<T>(objects: ObjectMap, key: string, schema: z.ZodType<T>): T[] {
  const named = objects[key];
  if (!named) throw new RangeError(`Cannot list ${key}: the controller has no rule for it`);
  return byName(named).map((object) => parseExactly(schema, object));
}

/** Lists the objects of all kinds in the map, in order of kind and name. */
export function listAll(objects: ObjectMap): KubeObject[] {
  return Object.keys(objects).sort().flatMap((key) => byName(objects[key] ?? {}));
}

function byName(named: Record<string, KubeObject>): KubeObject[] {
  return Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}
