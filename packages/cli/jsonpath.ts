/**
 * Evaluates `-o jsonpath=` and `-o custom-columns=` as kubectl does. Libraries for JSONPath lack kubectl's templates:
 * `range`, text between braces, `\.` in keys. Source: kubernetes.io/docs/reference/kubectl/jsonpath.
 * @module
 */
import { isRawInteger } from "../api/objects/json.ts";
import { UsageError } from "./failure.ts";

/** Finds values in an object; empty: the path leads nowhere. */
export type Path = (value: unknown) => unknown[];

type Part = { text: string } | { path: Path } | { range: Path; body: Part[] };

/**
 * Compiles a template: text, and in braces paths, quoted text, and `{range PATH}…{end}`. A template that is only a path
 * may lack the braces.
 *
 * @throws {UsageError} if the template is invalid, or uses what is not supported
 */
export function compileTemplate(template: string): (value: unknown) => string {
  const tokens = tokensOf(/^[.$]/.test(template) ? `{${template}}` : template);
  const { parts, rest } = partsOf(tokens, template, false);
  if (rest.length > 0) throw invalid(template, "{end} has no {range}");
  return (value) => render(parts, value);
}

/** Compiles a path of a column or of `--sort-by`, with or without braces and the dot before it. @throws {UsageError} */
export function compilePath(text: string): Path {
  const inner = text.trim().replace(/^\{(.*)\}$/s, "$1");
  return parsePath(/^[.$@[]/.test(inner) ? inner : `.${inner}`, text);
}

/** Formats a value as kubectl prints it: text as it is, all else as JSON. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A column of `-o custom-columns=`. */
export interface CustomColumn {
  header: string;
  path: Path;
}

/** Compiles `HEADER:PATH,…`. @throws {UsageError} */
export function compileColumns(spec: string): CustomColumn[] {
  const columns = split(spec, ",").map((column) => {
    const at = column.indexOf(":");
    if (at < 1 || at === column.length - 1) {
      throw new UsageError(`Cannot use column "${column}": write HEADER:PATH, such as NAME:.metadata.name`);
    }
    return { header: column.slice(0, at).trim(), path: compilePath(column.slice(at + 1)) };
  });
  return columns;
}

function invalid(template: string, why: string): UsageError {
  return new UsageError(`Cannot use JSONPath "${template}": ${why}`);
}

type Token = { text: string } | { action: string };

/** Splits a template into text and the contents of braces. */
function tokensOf(template: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < template.length;) {
    const open = template.indexOf("{", at);
    if (open !== at) tokens.push({ text: template.slice(at, open < 0 ? undefined : open) });
    if (open < 0) break;
    const close = endOf(template, open + 1, "}");
    if (close < 0) throw invalid(template, "a closing } is missing");
    tokens.push({ action: template.slice(open + 1, close).trim() });
    at = close + 1;
  }
  return tokens;
}

/** Returns where a character is outside of quotes and brackets; -1: nowhere. */
function endOf(text: string, from: number, wanted: string): number {
  let quote = "";
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const char = text[i] ?? "";
    if (char === "\\") i++;
    else if (quote !== "") quote = char === quote ? "" : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === wanted && depth === 0) return i;
    else if ("[(".includes(char)) depth++;
    else if ("])".includes(char)) depth--;
  }
  return -1;
}

function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = endOf(text, from, separator); at >= 0; at = endOf(text, from, separator)) {
    parts.push(text.slice(from, at));
    from = at + 1;
  }
  return [...parts, text.slice(from)];
}

function partsOf(tokens: readonly Token[], template: string, isInRange: boolean): { parts: Part[]; rest: Token[] } {
  const parts: Part[] = [];
  let rest = [...tokens];
  for (let token = rest.shift(); token; token = rest.shift()) {
    if ("text" in token) parts.push(token);
    else if (token.action === "end") {
      if (isInRange) return { parts, rest };
      throw invalid(template, "{end} has no {range}");
    } else if (/^range\s/.test(token.action)) {
      const inner = partsOf(rest, template, true);
      parts.push({ range: parsePath(token.action.slice("range".length).trim(), template), body: inner.parts });
      rest = inner.rest;
    } else if (/^(".*"|'.*')$/s.test(token.action)) parts.push({ text: unquoted(token.action, template) });
    else parts.push({ path: parsePath(token.action, template) });
  }
  if (isInRange) throw invalid(template, "{range} has no {end}");
  return { parts, rest };
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r" };

function unquoted(quoted: string, template: string): string {
  const quote = quoted[0];
  if (quoted.length < 2 || quoted.at(-1) !== quote) throw invalid(template, `${quoted} is not closed`);
  return quoted.slice(1, -1).replace(/\\(.)/gs, (_, char: string) => ESCAPES[char] ?? char);
}

function render(parts: readonly Part[], value: unknown): string {
  return parts.map((part) => {
    if ("text" in part) return part.text;
    if ("path" in part) return part.path(value).map(textOf).join(" ");
    return part.range(value).map((one) => render(part.body, one)).join("");
  }).join("");
}

/** One step of a path, from some values to others. */
type Step = (values: unknown[]) => unknown[];

const NAME = /^(?:\\.|[^.[\]\s\\])+/;

function parsePath(text: string, template: string): Path {
  const steps: Step[] = [];
  let rest = text.replace(/^[$@]/, "");
  if (rest !== "" && !/^[.[]/.test(rest)) throw invalid(template, `"${text}" is not a path: it begins with a dot`);
  while (rest !== "") {
    if (rest === ".") break;
    const isDeep = rest.startsWith("..");
    if (isDeep) steps.push((values) => values.flatMap(descendants));
    const after = rest.replace(/^\.{1,2}/, "");
    if (after.startsWith("[")) {
      const close = endOf(after, 1, "]");
      if (close < 0) throw invalid(template, "a closing ] is missing");
      steps.push(bracket(after.slice(1, close).trim(), template));
      rest = after.slice(close + 1);
      continue;
    }
    const [name] = NAME.exec(after) ?? [];
    if (name === undefined || !rest.startsWith(".")) throw invalid(template, `"${rest}" is not understood`);
    steps.push(name === "*" ? all : child(name.replaceAll(/\\(.)/g, "$1")));
    rest = after.slice(name.length);
  }
  return (value) => steps.reduce((values, step) => step(values), [value]);
}

const isContainer = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !isRawInteger(value);

const all: Step = (values) => values.flatMap((value) => isContainer(value) ? Object.values(value) : []);

/** A value that is null counts as absent, as it does in kubectl's output. */
const isPresent = (value: unknown) => value !== undefined && value !== null;

function child(name: string): Step {
  return (values) =>
    values.filter((value) => isContainer(value) && !Array.isArray(value) && Object.hasOwn(value, name))
      .map((value) => (value as Record<string, unknown>)[name]).filter(isPresent);
}

function descendants(value: unknown): unknown[] {
  return isContainer(value) ? [value, ...Object.values(value).flatMap(descendants)] : [];
}

function bracket(text: string, template: string): Step {
  if (text === "*") return all;
  const [, filter] = /^\?\((.*)\)$/s.exec(text) ?? [];
  if (filter !== undefined) return filterStep(filter.trim(), template);
  const steps = split(text, ",").map((part): Step => {
    const word = part.trim();
    if (/^(".*"|'.*')$/s.test(word)) return child(unquoted(word, template));
    if (/^-?\d+$/.test(word)) return (values) => lists(values).flatMap((list) => list.slice(...oneAt(Number(word))));
    const [isSlice, from, to, step = "1"] = /^(-?\d+)?:(-?\d+)?(?::(\d+))?$/.exec(word) ?? [];
    if (isSlice === undefined || step === "0") throw invalid(template, `"[${text}]" is not understood`);
    return (values) =>
      lists(values).flatMap((list) =>
        list.slice(Number(from ?? 0), to === undefined ? undefined : Number(to)).filter((_, i) =>
          i % Number(step) === 0
        )
      );
  });
  return (values) => steps.flatMap((step) => step(values));
}

function lists(values: unknown[]): unknown[][] {
  return values.filter((value): value is unknown[] => Array.isArray(value));
}

function oneAt(index: number): [number, number | undefined] {
  return index === -1 ? [-1, undefined] : [index, index + 1];
}

const OPERATORS: Record<string, (a: unknown, b: unknown) => boolean> = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => (a as number) < (b as number),
  "<=": (a, b) => (a as number) <= (b as number),
  ">": (a, b) => (a as number) > (b as number),
  ">=": (a, b) => (a as number) >= (b as number),
};

/** `@.path`, or `@.path OPERATOR value`. */
function filterStep(text: string, template: string): Step {
  if (/&&|\|\||=~/.test(text.replace(/"[^"]*"|'[^']*'/g, ""))) {
    throw invalid(template, "filters with &&, || or =~ are not supported");
  }
  const [, left = "", operator, right = ""] = /^(@[^=!<>]*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.*))?$/s.exec(text) ?? [];
  if (left === "") throw invalid(template, `the filter "${text}" does not begin with @`);
  const path = parsePath(left, template);
  const compare = operator === undefined ? undefined : OPERATORS[operator];
  const wanted = compare && literal(right, template);
  return (values) =>
    values.flatMap((value) => isContainer(value) ? Object.values(value) : []).filter((item) => {
      const [found] = path(item);
      return compare ? found !== undefined && compare(found, wanted) : found !== undefined;
    });
}

function literal(text: string, template: string): unknown {
  if (/^(".*"|'.*')$/s.test(text)) return unquoted(text, template);
  if (text === "true" || text === "false") return text === "true";
  const number = Number(text);
  if (text === "" || Number.isNaN(number)) throw invalid(template, `"${text}" is neither text in quotes nor a number`);
  return number;
}
