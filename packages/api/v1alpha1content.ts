/**
 * The input and output of the conversions between versions, and functions to read their annotations, which anybody may
 * have written. @module
 */
import { parseJson } from "./objects/exactjson.ts";
import type { KubeObject } from "./objects/objects.ts";
import { isObject } from "./objects/json.ts";

/** Prefix of the conversions' annotations. */
export const PREFIX = "api.agents.x-k8s.io/";

export type Fields = Record<string, unknown>;

/** An object without its version: the input and output of each kind's functions. */
export interface Content {
  metadata: KubeObject["metadata"];
  spec: Fields;
  status: Fields | undefined;
}

/** Parses JSON; undefined: the text is absent or not JSON. */
export function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Adds annotations. */
export function annotated(content: Content, annotations: Record<string, string>): Content {
  return {
    ...content,
    metadata: { ...content.metadata, annotations: { ...content.metadata.annotations, ...annotations } },
  };
}

/** Removes annotations. If none is left, removes the `annotations` field. */
export function without(content: Content, ...keys: string[]): Content {
  const { annotations } = content.metadata;
  if (!annotations || !keys.some((key) => Object.hasOwn(annotations, key))) return content;
  const left = Object.fromEntries(Object.entries(annotations).filter(([key]) => !keys.includes(key)));
  const { annotations: _, ...metadata } = content.metadata;
  return { ...content, metadata: Object.keys(left).length > 0 ? { ...metadata, annotations: left } : metadata };
}

/**
 * How many levels a claim's volumes may have. A PersistentVolumeClaim has fewer than half as many, but an annotation
 * may contain any number.
 */
const DEEPEST = 16;

/**
 * Tells whether a value can be a claim's volumes. This is needed because nobody else checks the result of a conversion,
 * not even the API server.
 */
export function isVolumes(value: unknown): value is Fields[] {
  return Array.isArray(value) && value.every(isObject) && isShallow(value, DEEPEST);
}

function isShallow(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((field) => isShallow(field, left - 1));
}

/** Returns the name in a reference; empty: the reference has none. */
export function nameOf(reference: unknown): string {
  const name = (reference as { name?: unknown } | undefined)?.name;
  return typeof name === "string" ? name : "";
}
