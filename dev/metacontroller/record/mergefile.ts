/** Reads and writes the file with merges by Metacontroller: a header, then one child on each line. @module */
import { canonicalJson, LAST_APPLIED_ANNOTATION, sameJson } from "../../../packages/api/objects/apply.ts";
import { isObject, type Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

/** The result of Metacontroller for one child. If `written` is undefined, Metacontroller wrote nothing. */
export interface Merge {
  observed: KubeObject;
  desired: Json;
  written?: KubeObject;
}

interface MergeHeader {
  metacontroller: string;
  seed: number;
  /** How many merges were compared when the file was created. The file contains the first of them. */
  compared: number;
}

/** Metadata that is the same in all children, and is therefore not in the file. */
const META = {
  name: "c",
  namespace: "n",
  uid: "1",
  resourceVersion: "1",
  generation: 1,
  creationTimestamp: "2026-01-01T00:00:00Z",
  ownerReferences: [{
    apiVersion: "m.io/v1",
    kind: "Owner",
    name: "o",
    uid: "0",
    controller: true,
    blockOwnerDeletion: true,
  }],
} satisfies KubeObject["metadata"];
const TYPE = { apiVersion: "m.io/v1", kind: "Case" };

/**
 * Writes the file. Each line has the observed, the last applied, the desired and, if there is one, the written object.
 * The last applied one is an object if the annotation is its canonical text, otherwise a text. If the new annotation
 * contains the desired object, which is nearly always so, the line has the annotation's text in place of the desired
 * object, byte for byte.
 */
export function writeMerges(header: MergeHeader, merges: Merge[]): string {
  const lines = merges.map((merge) => {
    const { observed, desired, written } = renamed(merge);
    const seen = [shortened(annotated(observed, undefined)), lastOf(lastIn(observed))];
    const text = written && lastIn(written);
    if (!written) return [...seen, desired];
    if (text === undefined || !sameJson(desiredIn(text), desired)) return [...seen, desired, shortened(written)];
    return [...seen, text, shortened(annotated(written, undefined))];
  });
  return `${[header, ...lines].map((line) => JSON.stringify(line)).join("\n")}\n`;
}

/** Reads a file of {@link writeMerges}. */
export function readMerges(file: string): { header: MergeHeader; merges: Merge[] } {
  const [header, ...lines] = file.trimEnd().split("\n").map((line) => JSON.parse(line));
  const merges = lines.map(([observed, last, desired, written]: [Json, Last, Json | string, Json | undefined]) => {
    const text = typeof desired === "string" ? desired : undefined;
    return {
      observed: annotated(whole(observed), isObject(last) ? canonicalJson(last) : last ?? undefined),
      desired: typeof desired === "string" ? desiredIn(desired) : desired,
      ...(written && { written: text === undefined ? whole(written) : annotated(whole(written), text) }),
    };
  });
  return { header, merges };
}

/** The text of an annotation, or the object whose canonical text it is; null: there is no annotation. */
type Last = string | Json | null;

function lastOf(text: string | undefined): Last {
  try {
    const value = JSON.parse(text ?? "null");
    return isObject(value) && canonicalJson(value) === text ? value : text ?? null;
  } catch {
    return text ?? null;
  }
}

function lastIn({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[LAST_APPLIED_ANNOTATION];
}

/** Returns the desired object of a hook from the annotation's text: Metacontroller has added the namespace. */
function desiredIn(text: string): Json {
  const { metadata: { namespace: _, ...metadata }, ...desired } = JSON.parse(text);
  return { ...desired, metadata };
}

/** Replaces the annotation in an object. If the object has no annotations and gets none, the field stays absent. */
function annotated(object: KubeObject, text: string | undefined): KubeObject {
  if (!object.metadata.annotations && text === undefined) return object;
  const { [LAST_APPLIED_ANNOTATION]: _, ...rest } = object.metadata.annotations ?? {};
  const annotations = { ...rest, ...(text !== undefined && { [LAST_APPLIED_ANNOTATION]: text }) };
  const left = Object.keys(annotations).length > 0 ? { annotations } : {};
  const { annotations: __, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...left } };
}

/** Replaces names by fixed ones everywhere, and removes what depends on when and by whom the object was created. */
function renamed({ observed, desired, written }: Merge): Merge {
  const { name, namespace = "", uid = "", ownerReferences } = observed.metadata;
  const [owner] = ownerReferences ?? [];
  const { resourceVersion, generation, creationTimestamp } = observed.metadata;
  const chance = { resourceVersion, generation, creationTimestamp };
  const fixed = (object: KubeObject): KubeObject => {
    const { managedFields: _, ...metadata } = object.metadata;
    const times = Object.entries(chance).filter(([key, value]) => sameJson(metadata[key], value)).map((
      [key],
    ) => [key, META[key as keyof typeof chance]]);
    return { ...object, metadata: { ...metadata, ...Object.fromEntries(times) } };
  };
  const names = [[name, META.name], [namespace, META.namespace], [uid, META.uid], [owner?.name, "o"], [
    owner?.uid,
    "0",
  ]];
  const rename = <T>(value: T): T => {
    let text = JSON.stringify(value);
    for (const [from = "", to = ""] of names) if (from) text = text.replaceAll(from, to);
    return JSON.parse(text);
  };
  return {
    observed: rename(fixed(observed)),
    desired: rename(desired),
    ...(written && { written: rename(fixed(written)) }),
  };
}

/** Removes the fixed metadata. null means that the object lacks a field of the fixed metadata. */
function shortened({ metadata, ...object }: KubeObject): Json {
  const { apiVersion: _, kind: __, ...rest } = object as Json;
  const fields = Object.entries(metadata).filter(([key, value]) => !sameJson(META[key as keyof typeof META], value));
  const gone = Object.keys(META).filter((key) => !Object.hasOwn(metadata, key)).map((key) => [key, null]);
  return { metadata: Object.fromEntries([...fields, ...gone]), ...rest };
}

function whole({ metadata, ...rest }: Json): KubeObject {
  const fields = Object.entries({ ...META, ...metadata as Json }).filter(([key, value]) =>
    value !== null || !Object.hasOwn(META, key)
  );
  return { ...TYPE, metadata: Object.fromEntries(fields) as KubeObject["metadata"], ...rest };
}
