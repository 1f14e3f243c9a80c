/** JSON objects told from other JSON values. @module */
import { isRawInteger } from "./exactjson.ts";

/** A JSON object of unknown fields. */
export type Json = Record<string, unknown>;

/** Tells whether a value is a JSON object: not null, not a list, not a raw integer. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawInteger(value);
}
