/** Text of others without what terminals take for orders: a sandbox names its files as it likes. Pure. @module */
import { exactly } from "../../api/objects/exactjson.ts";
import type { CommandContext, Output } from "../commandcontext.ts";

// deno-lint-ignore no-control-regex -- those are what must not get through
const ORDERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Shows control characters but newline and tab, and those that turn the direction of text, as JSON writes them: within a
 * string of JSON that says the same.
 */
export function plain(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(ORDERS, escaped);
}

/** The same with newlines and tabs, for what stands in a line among others. */
export function oneLine(text: string): string {
  return plain(text).replace(/[\n\t]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The same value with all its texts {@link plain}. */
export function plainly<T>(value: T): T {
  const part = (key: string, part: unknown, context?: { source?: string }) =>
    typeof part === "string" ? plain(part) : exactly(key, part, context ?? {});
  return JSON.parse(JSON.stringify(value), part) as T;
}

/** Bytes of a text whose orders to the terminal are ours. */
export function drawn(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The same context, but that all text it writes is plain. Bytes pass: of programs, and what is {@link drawn}. */
export function withPlainText(context: CommandContext): CommandContext {
  const { stdout, stderr } = context;
  return Object.create(context, { stdout: { value: plainOutput(stdout) }, stderr: { value: plainOutput(stderr) } });
}

function plainOutput(output: Output): Output {
  const write: Output["write"] = (data) => output.write(typeof data === "string" ? plain(data) : data);
  return Object.create(output, { write: { value: write } });
}
