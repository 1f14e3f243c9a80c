/** The result of running code: values in all their forms, output, and the exception. @module */
import { toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Result as WireResult } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";

/** Plain data, as `JSON.parse` returns it. */
export type JSONValue = string | number | boolean | null | JSONValue[] | { [key: string]: JSONValue };

/** Forms of a result that have their own field. */
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
  | "data"
  | "chart";

/** A value that the code displayed, in all its forms. A form that the value does not have is absent. */
export interface Result {
  /** The text of `repr()` in Python, or `util.inspect` in JavaScript. */
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
  json?: JSONValue;
  javascript?: string;
  /** The value as plain data; for a table, its columns by name. */
  data?: JSONValue;
  /**
   * The data of a figure of matplotlib, to draw it again: `type` (`line`, `scatter`, `bar`, `pie`, `box_and_whisker`,
   * `superchart` for several axes, or `unknown`), `title`, `elements`, and for axes labels, units, ticks and scales.
   */
  chart?: JSONValue;
  /** Forms of other MIME types; binary ones in base64. */
  extra: Record<string, string>;
  /** Whether it is the value of the last expression. False for values that were displayed while the code ran. */
  isMainResult: boolean;
  /** Names of the forms that it has; those in `extra` by their MIME types. */
  formats(): string[];
}

/** An exception that ended the code. */
export interface ExecutionError {
  /** Name of its class, such as `ZeroDivisionError`. */
  name: string;
  /** Its message. */
  value: string;
  /** Traceback as the language prints it, without frames of the interpreter. */
  traceback: string;
}

/** The result of running a piece of code. */
export interface Execution {
  /** Displayed values, in order. With `truncated`, only the first ones. */
  results: Result[];
  /**
   * Pieces of output in order; small pieces are joined. To get the text, use `join("")`. With `truncated`, only the
   * beginning of each stream.
   */
  logs: { stdout: string[]; stderr: string[] };
  /** The exception that ended the code. Undefined if there was none. */
  error?: ExecutionError;
  /** Text of the main result. Undefined if there is none, or if it is not in `results`. */
  text?: string;
  /** How many times code has run in this context since its start, including this time. */
  executionCount: number;
  /**
   * True if output or results are missing, because they exceeded `maxOutputLength` or `maxResultsLength`. Otherwise
   * absent.
   */
  truncated?: boolean;
}

const BINARY = ["png", "jpeg", "pdf"] as const;
const PLAIN = ["text", "html", "markdown", "svg", "latex", "javascript"] as const;
const VALUES = ["json", "data", "chart"] as const;

/** Converts a result of the runtime's response. @internal */
export function resultOf(wire: WireResult): Result {
  const forms: Omit<Result, "extra" | "isMainResult" | "formats"> = {};
  for (const form of PLAIN) if (wire[form] !== undefined) forms[form] = wire[form];
  for (const form of BINARY) if (wire[form] !== undefined) forms[form] = base64Of(wire[form]);
  for (const form of VALUES) if (wire[form] !== undefined) forms[form] = jsonOf(wire[form]);
  const { extra, isMainResult } = wire;
  const names = [...Object.keys(forms), ...Object.keys(extra)];
  return { ...forms, extra, isMainResult, formats: () => names };
}

function jsonOf(value: Value): JSONValue {
  return toJson(ValueSchema, value);
}

/** The number of arguments of a call is limited. A multiple of three, so that the encoded pieces can be joined. */
const ENCODED_BYTES = 3 << 10;

/**
 * Not Protobuf's own function: that one creates an object of 32 bytes for each character, and they live as long as the
 * text.
 */
function base64Of(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += ENCODED_BYTES) {
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(at, at + ENCODED_BYTES))));
  }
  return pieces.join("");
}
