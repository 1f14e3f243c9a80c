/** Escapes control characters in text from sandboxes and clusters, because a terminal would execute them. @module */
import { exactly } from "../../api/objects/exactjson.ts";
import type { CommandContext, Output } from "../commandcontext.ts";

// deno-lint-ignore no-control-regex -- those are what must not get through
const ORDERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Escapes control characters other than newline and tab, and characters that change the direction of text, as in JSON.
 * In a JSON string, the escaped text has the same meaning.
 */
export function plain(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(ORDERS, escaped);
}

/** As {@link plain}, but also escapes newlines and tabs, for text within a line. */
export function oneLine(text: string): string {
  return plain(text).replace(/[\n\t]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Returns the same value with all its strings escaped by {@link plain}. */
export function plainly<T>(value: T): T {
  const part = (key: string, part: unknown, context?: { source?: string }) =>
    typeof part === "string" ? plain(part) : exactly(key, part, context ?? {});
  return JSON.parse(JSON.stringify(value), part) as T;
}

/** Encodes text whose control characters are our own, so that they are not escaped. */
export function drawn(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/**
 * Returns a context that escapes all text that it writes. Bytes are not escaped: they come from programs or
 * {@link drawn}.
 */
export function withPlainText(context: CommandContext): CommandContext {
  const { stdout, stderr } = context;
  return Object.create(context, { stdout: { value: plainOutput(stdout) }, stderr: { value: plainOutput(stderr) } });
}

function plainOutput(output: Output): Output {
  const write: Output["write"] = (data) => output.write(typeof data === "string" ? plain(data) : data);
  return Object.create(output, { write: { value: write } });
}
