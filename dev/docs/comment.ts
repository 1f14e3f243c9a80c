/** Takes documentation comments apart, tags in the middle of a line included. Knows no page. @module */
import type { JSDoc } from "./denodoc.ts";
import { typeText } from "./typetext.ts";

/** A comment in parts; texts are Markdown. */
export interface Comment {
  /** All before the first tag. */
  text: string;
  params: { name: string; text: string }[];
  returns?: string;
  throws: { type: string; text: string }[];
  examples: { title: string; body: string }[];
  /** The value that holds where none is given: as code where it stood in braces. */
  default?: string;
  deprecated?: string;
  isInternal: boolean;
}

const TAG = /(^|\s)@(param|returns?|throws|default|example|deprecated|internal|module|see|template)(?=\s|$)/g;

/** Takes a comment apart; undefined gives one without any text. */
export function parseComment(jsDoc: JSDoc | undefined): Comment {
  const comment: Comment = { text: "", params: [], throws: [], examples: [], isInternal: false };
  const [text = "", ...tags] = split(written(jsDoc ?? {}));
  comment.text = text.trim();
  for (const tag of tags) add(comment, /^@(\w+)\s*/.exec(tag)?.[1] ?? "", tag.replace(/^@\w+\s*/, "").trim());
  return comment;
}

/** Takes the comment apart that a source file opens with: `deno doc` overlooks one that is a single line. */
export function parseModuleComment(source: string): Comment {
  const [, body = ""] = /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\//.exec(source) ?? [];
  return parseComment({ doc: body.replace(/^\s*\* ?/gm, "") });
}

/** Tags that begin a line have been cut off already; those inside a line have not. Here they are joined again. */
function written({ doc = "", tags = [] }: JSDoc): string {
  const lines = tags.map(({ kind, name, doc, value, tsType }) => {
    if (kind === "unsupported") return value ?? "";
    const type = tsType ? `{${typeText(tsType)}}` : value === undefined ? "" : `{${value}}`;
    return [`@${kind}`, type, name, doc].filter((part) => part).join(" ");
  });
  return [doc, ...lines].join("\n");
}

/** Splits before each tag that stands in no code. */
function split(text: string): string[] {
  const parts = [""];
  let fenced = false;
  for (const line of text.split("\n")) {
    if (/^\s*```/.test(line)) fenced = !fenced;
    const plain = fenced ? "" : line.replace(/`[^`]*`/g, (code) => "`".repeat(code.length));
    const starts = [...plain.matchAll(TAG)].map(({ index, 1: space = "" }) => index + space.length);
    const pieces = [0, ...starts].map((start, at) => line.slice(start, starts[at]));
    const before = parts.pop() ?? "";
    parts.push(...pieces.map((piece, at) => at === 0 ? before + piece : piece));
    parts.push(`${parts.pop()}\n`);
  }
  return parts;
}

function add(comment: Comment, tag: string, body: string): void {
  const [, type = "", afterType = body] = /^\{([^}]*)\}\s*([\s\S]*)$/.exec(body) ?? [];
  const [, name = "", afterName = ""] = /^\[?([\w.]+)\]?\s*(?:-\s*)?([\s\S]*)$/.exec(afterType) ?? [];
  const [title = "", ...lines] = body.split("\n");
  if (tag === "param") comment.params.push({ name, text: afterName });
  else if (tag === "return" || tag === "returns") comment.returns = afterType;
  else if (tag === "throws") comment.throws.push({ type, text: afterType });
  else if (tag === "default") comment.default = type ? `\`${type}\`` : body;
  else if (tag === "deprecated") comment.deprecated = body;
  else if (tag === "internal") comment.isInternal = true;
  else if (tag === "see") comment.text += `\n\nSee ${body}`;
  else if (tag === "example") {
    comment.examples.push(title.startsWith("```") ? { title: "", body } : { title, body: lines.join("\n") });
  }
}
