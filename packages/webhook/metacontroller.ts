/**
 * The hook protocol of Metacontroller, `version: v2`: schemas, types, and how soon an answer may ask to be called again.
 * Source: Metacontroller 4.17.2, pkg/controller/{composite,decorator,common/customize}/api/v2. @module
 */
import { parseExactly } from "../api/objects/exactjson.ts";
import * as z from "zod";
import { type DesiredObject, type KubeObject, kubeObjectSchema, objectMetaSchema } from "../api/objects/objects.ts";

/** How long Metacontroller waits for an answer of `sync`, in milliseconds: the `timeout` in our controllers' files. */
export const SYNC_TIMEOUT_MS = 10_000;

/** Objects by kind key (see {@link kindKey}), then by `<namespace>/<name>` (`<name>` if cluster-scoped). */
export const objectMapSchema = z.record(z.string(), z.record(z.string(), kubeObjectSchema));
export type ObjectMap = z.infer<typeof objectMapSchema>;

/** What a hook is shown: a parent, its children (attachments, for a decorator), and what customize asked for. */
export interface Observed<Parent> {
  parent: Parent;
  children: ObjectMap;
  related: ObjectMap;
  finalizing: boolean;
}

/** What a hook wants. Everything observed that is not among `children` is deleted by Metacontroller. */
export interface Desired<Status> {
  /** Replaces the parent's status whole. */
  status: Status;
  children: DesiredObject[];
  /** Seconds until the next call, fractions allowed, above 0; absent means: when something changes. */
  resyncAfterSeconds?: number;
  /** Why each observed child that is left out has to go, by {@link childKey}. Stays in the process: the guard reads it. */
  deletions?: Readonly<Record<string, string>>;
}

/** What a decorator hook wants. `null` in a map deletes the key; an absent or null status stays as it is. */
export interface Decorated<Status> {
  labels?: Record<string, string | null>;
  annotations?: Record<string, string | null>;
  status?: Status | null;
  attachments: DesiredObject[];
  resyncAfterSeconds?: number;
  deletions?: Readonly<Record<string, string>>;
}

/** One rule of a customize answer; `names` excludes the selectors. */
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

/** Parses the request of a composite sync or finalize hook; no defaults: a request that lacks `children` is refused. */
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

/** What a composite hook may answer on the wire: Metacontroller refuses unknown fields, and so does this. */
export const compositeAnswerSchema = z.strictObject({
  status: z.looseObject({}),
  children: z.array(desiredObjectSchema),
  resyncAfterSeconds: resyncSchema,
});

/** What a decorator hook may answer on the wire. */
export const decoratorAnswerSchema = z.strictObject({
  labels: changesSchema,
  annotations: changesSchema,
  status: z.looseObject({}).nullable().optional(),
  attachments: z.array(desiredObjectSchema),
  resyncAfterSeconds: resyncSchema,
});

/** What a customize hook may answer on the wire. */
export const customizeAnswerSchema = z.strictObject({
  relatedResources: z.array(z.looseObject({ apiVersion: z.string().min(1), resource: z.string().min(1) })),
});

/** Shortest wait, in seconds: only so late that the answer has been carried out. A hook that always asked for less would be called without end. */
export const SHORTEST_RESYNC_SECONDS = 0.03;
/** Longest wait, in seconds: Metacontroller counts int64 nanoseconds, so that 293 years become a negative wait, which means "now". */
export const LONGEST_RESYNC_SECONDS = 9e9;
/** Shortest wait that our hooks ask for until a moment, in seconds: below it a timer fires before the clock has moved on. */
export const SHORTEST_WAIT_SECONDS = 0.05;
/** Longest wait that our hooks ask for, in seconds: nothing depends on a longer one. */
export const LONGEST_WAIT_SECONDS = 86_400;

/** Returns the soonest of some waits as a wait that the guard allows; undefined: there is none. */
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
 * @param key as {@link kindKey} gives it
 * @throws {RangeError} if the key is absent: Metacontroller sends one for every child rule, so its absence means that
 * the controller lacks that rule, not that there are no children
 */
export function listKind<T>(objects: ObjectMap, key: string, schema: z.ZodType<T>): T[] {
  const named = objects[key];
  if (!named) throw new RangeError(`Cannot list ${key}: the controller has no rule for it`);
  return byName(named).map((object) => parseExactly(schema, object));
}

/** Lists every object of the map, of whatever kind, in order of kind and name. */
export function listAll(objects: ObjectMap): KubeObject[] {
  return Object.keys(objects).sort().flatMap((key) => byName(objects[key] ?? {}));
}

function byName(named: Record<string, KubeObject>): KubeObject[] {
  return Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}
