/** Links to what the page describes. Knows names alone. @module */
import type { TsType } from "./denodoc.ts";
import { typeText } from "./typetext.ts";

/** Turns texts of comments into Markdown with links to the names that have a heading on the page. */
export interface Links {
  /** Whether a name is described on the page. */
  has(name: string): boolean;
  /** A name as code, linked where it has a heading. */
  name(name: string): string;
  /** A type as code, linked to the first name in it that has a heading. */
  type(type: TsType | undefined): string;
  /** Markdown with its `{@link …}` replaced. */
  text(markdown: string): string;
  /** The same in one line. */
  line(markdown: string): string;
  /** The same in one line, for a cell of a table. */
  cell(markdown: string): string;
}

/** Makes the links. @param anchors where on the page a name is described */
export function createLinks(anchors: ReadonlyMap<string, string>): Links {
  const linked = (text: string, target: string | undefined) =>
    target === undefined ? code(text) : `[${code(text)}](#${target})`;
  const text = (markdown: string) =>
    markdown.replace(/\{@(?:link|linkcode|linkplain)\s+([^}\s|]+)\s*\|?\s*([^}]*)\}/g, (_, target, label) => {
      if (/^https?:/.test(target)) return `[${label || target}](${target})`;
      const [owner = ""] = target.split(/[.#]/);
      return linked(label || target, anchors.get(target) ?? anchors.get(owner));
    });
  const line = (markdown: string) => text(markdown).replace(/\s*\n\s*/g, " ").trim();
  return {
    has: (name) => anchors.has(name),
    name: (name) => linked(name, anchors.get(name)),
    type: (type) => linked(typeText(type), anchors.get(namesIn(type).find((name) => anchors.has(name)) ?? "")),
    text,
    line,
    cell: (markdown) => line(markdown).replace(/(?<!\\)\|/g, "\\|"),
  };
}

/** The anchor that GitHub gives a heading. */
export function anchor(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
}

/** A code span; a backtick inside wants two around it. */
export function code(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** Lists the names that a type refers to, depth first. */
export function namesIn(type: unknown): string[] {
  if (Array.isArray(type)) return type.flatMap(namesIn);
  if (typeof type !== "object" || type === null) return [];
  const { typeName } = type as { typeName?: unknown };
  return [...(typeof typeName === "string" ? [typeName] : []), ...Object.values(type).flatMap(namesIn)];
}
