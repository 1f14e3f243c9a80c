/** The file of merges that Metacontroller has made: a header, then one child a line. @module */
import { canonicalJson, LAST_APPLIED_ANNOTATION, sameJson } from "../../../packages/api/objects/apply.ts";
import { isObject, type Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

/** What Metacontroller made of one child; `written` is undefined if it wrote nothing. */
export interface Merge {
  observed: KubeObject;
  desired: Json;
  written?: KubeObject;
}

export interface MergeHeader {
  metacontroller: string;
  seed: number;
  /** How many were compared as the file was made; it holds the first of them. */
  compared: number;
}

/** What is the same in all children of the file, and is left out there. */
const META = {
  ...{ name: "c", namespace: "n", uid: "1", resourceVersion: "1", generation: 1 },
  creationTimestamp: "2026-01-01T00:00:00Z",
  ownerReferences: [{
    ...{ apiVersion: "m.io/v1", kind: "Owner", name: "o", uid: "0" },
    ...{ controller: true, blockOwnerDeletion: true },
  }],
} satisfies KubeObject["metadata"];
const TYPE = { apiVersion: "m.io/v1", kind: "Case" };

/**
 * Writes the file: a line is what was observed, what was applied last, what was desired, and what was written, if anything.
 * What was applied last is an object where the annotation is its canonical text. Where the new annotation says what was
 * desired, as it nearly always does, that text stands in its place, byte for byte.
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

/** Reads what {@link writeMerges} wrote. */
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

/** Text of an annotation, or the object that it is the canonical text of; null: there is none. */
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

/** What a hook had desired whose child was then remembered in this text: Metacontroller adds the namespace. */
function desiredIn(text: string): Json {
  const { metadata: { namespace: _, ...metadata }, ...desired } = JSON.parse(text);
  return { ...desired, metadata };
}

/** Absent annotations stay absent. */
function annotated(object: KubeObject, text: string | undefined): KubeObject {
  if (!object.metadata.annotations && text === undefined) return object;
  const { [LAST_APPLIED_ANNOTATION]: _, ...rest } = object.metadata.annotations ?? {};
  const annotations = { ...rest, ...(text !== undefined && { [LAST_APPLIED_ANNOTATION]: text }) };
  const left = Object.keys(annotations).length > 0 ? { annotations } : {};
  const { annotations: __, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...left } };
}

/** Gives a child the fixed names, wherever they stand, and takes off what says when it was made, and by whom. */
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

/** null stands for a field of the fixed ones that is not there. */
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
