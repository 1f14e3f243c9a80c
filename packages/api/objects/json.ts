/** Recognises JSON objects, and reads text that may not be JSON. @module */
import { isRawInteger } from "./exactjson.ts";

/** A JSON object with unknown fields. */
export type Json = Record<string, unknown>;

/** Tells whether a value is a JSON object: not null, not a list, not a raw integer. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawInteger(value);
}

/** Reads JSON from text that anybody may have written, such as an annotation; undefined: it is absent, or not JSON. */
export function readJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
