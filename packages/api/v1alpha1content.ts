/** What the conversions between versions see and give, and what they read in annotations, which anybody may write. Pure. @module */
import { parseJson } from "./objects/exactjson.ts";
import type { KubeObject } from "./objects/objects.ts";
import { isObject } from "./objects/json.ts";

/** Prefix of the conversions' annotations. */
export const PREFIX = "api.agents.x-k8s.io/";

export type Fields = Record<string, unknown>;

/** What a kind's functions see and give: an object without its version. */
export interface Content {
  metadata: KubeObject["metadata"];
  spec: Fields;
  status: Fields | undefined;
}

/** Returns undefined for what is not JSON, or not there. */
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

/** Takes annotations away; where none is left there is no field for them. */
export function without(content: Content, ...keys: string[]): Content {
  const { annotations } = content.metadata;
  if (!annotations || !keys.some((key) => Object.hasOwn(annotations, key))) return content;
  const left = Object.fromEntries(Object.entries(annotations).filter(([key]) => !keys.includes(key)));
  const { annotations: _, ...metadata } = content.metadata;
  return { ...content, metadata: Object.keys(left).length > 0 ? { ...metadata, annotations: left } : metadata };
}

/** How deep a claim's volumes may be: a PersistentVolumeClaim is less than half as deep, and text is not without end. */
const DEEPEST = 16;

/** Tells whether it can be a claim's volumes. Nobody looks at what a conversion gives: not the API server, either. */
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
