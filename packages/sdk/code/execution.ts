/** What comes of code: results in every form that they have, output, the exception. Pure. @module */
import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Result as WireResult } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";

/** Forms of a result that have a field of their own. */
export type ResultForm =
  | "text"
  | "html"
  | "markdown"
  | "svg"
  | "png"
  | "jpeg"
  | "pdf"
  | "latex"
  | "json"
  | "javascript"
  | "data";

/** One thing that code has shown, in every form that it has; a form that it does not have is absent. */
export interface Result {
  /** What `repr()` says, or `util.inspect`. */
  text?: string;
  html?: string;
  markdown?: string;
  svg?: string;
  /** Base64. */
  png?: string;
  /** Base64. */
  jpeg?: string;
  /** Base64. */
  pdf?: string;
  latex?: string;
  json?: JsonValue;
  javascript?: string;
  /** Plain data of the object: a table's columns by name. */
  data?: JsonValue;
  /** Other MIME types; binary ones in base64. */
  extra: Record<string, string>;
  /** It is the value of the last expression, and was not displayed on the way. */
  isMainResult: boolean;
  /** Names of the forms that it has, those of `extra` by their MIME types. */
  formats(): string[];
}

/** An exception that ended the code. */
export interface ExecutionError {
  /** Of its class: `ZeroDivisionError`. */
  name: string;
  /** Its message. */
  value: string;
  /** As the language prints it, without frames of the interpreter. */
  traceback: string;
}

/** What came of a piece of code. */
export interface Execution {
  /** In the order in which they were shown; with `truncated` the first ones. */
  results: Result[];
  /** Pieces as they came, many small ones as one: join them with "". With `truncated` the beginning of each stream. */
  logs: { stdout: string[]; stderr: string[] };
  /** The exception that ended the code; undefined if it ran to its end. */
  error?: ExecutionError;
  /** Text of the main result; undefined if there is none, or it is not among `results`. */
  text?: string;
  /** How many times code ran in this context since its start, this time included. */
  executionCount: number;
  /** Output or results are missing: they were more than `maxOutputLength` or `maxResultsLength`. Absent where none are. */
  truncated?: boolean;
}

const BINARY = ["png", "jpeg", "pdf"] as const;
const PLAIN = ["text", "html", "markdown", "svg", "latex", "javascript"] as const;
const VALUES = ["json", "data"] as const;

/** Reads a result of the wire. */
export function resultOf(wire: WireResult): Result {
  const forms: Omit<Result, "extra" | "isMainResult" | "formats"> = {};
  for (const form of PLAIN) if (wire[form] !== undefined) forms[form] = wire[form];
  for (const form of BINARY) if (wire[form] !== undefined) forms[form] = base64Of(wire[form]);
  for (const form of VALUES) if (wire[form] !== undefined) forms[form] = jsonOf(wire[form]);
  const { extra, isMainResult } = wire;
  const names = [...Object.keys(forms), ...Object.keys(extra)];
  return { ...forms, extra, isMainResult, formats: () => names };
}

function jsonOf(value: Value): JsonValue {
  return toJson(ValueSchema, value);
}

/** A call takes only so many arguments. A multiple of three: the pieces together are what all at once would be. */
const ENCODED_BYTES = 3 << 10;

/** Protobuf's own makes of each character an object of 32 bytes, and all of them stay as long as the text does. */
function base64Of(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += ENCODED_BYTES) {
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(at, at + ENCODED_BYTES))));
  }
  return pieces.join("");
}
