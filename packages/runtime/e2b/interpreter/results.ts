/** Converts the forms of a shown value to a result of E2B's code interpreter protocol. @module */
import type { Forms } from "../../contexts/events.ts";

/** Fields of a result by MIME type. Clients take all other types from `extra`. */
const FIELDS: Record<string, string> = {
  "text/plain": "text",
  "text/html": "html",
  "text/markdown": "markdown",
  "image/svg+xml": "svg",
  "image/png": "png",
  "image/jpeg": "jpeg",
  "application/pdf": "pdf",
  "text/latex": "latex",
  "application/json": "json",
  "application/javascript": "javascript",
  "application/vnd.hookbox.data+json": "data",
  "application/vnd.hookbox.chart+json": "chart",
  // Code can show these types itself, as the formatters in E2B's own kernel do.
  "e2b/data": "data",
  "e2b/chart": "chart",
};
/** Fields whose values are JSON, and not text. */
const VALUES = new Set(["json", "data", "chart"]);

/** Returns the fields of a result. A field without a value is left out. */
export function resultOf(forms: Forms, isMain: boolean): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [mime, form] of Object.entries(forms)) {
    if (form === null || form === undefined) continue;
    const field = FIELDS[mime];
    if (field === undefined) extra[mime] = form;
    else fields[field] = VALUES.has(field) ? form : textOf(form);
  }
  if (typeof fields["text"] === "string") fields["text"] = withoutQuotes(fields["text"]);
  // The Python SDK reads `extra`. The JavaScript SDK takes the fields that it does not know instead.
  const others = Object.keys(extra).length > 0 ? { ...extra, extra } : {};
  return { ...others, ...fields, is_main_result: isMain };
}

function textOf(form: unknown): string {
  if (Array.isArray(form)) return form.join("");
  return typeof form === "string" ? form : JSON.stringify(form);
}

/** The text of a string is its `repr()`, in quotes. Users of the protocol expect the string. */
function withoutQuotes(text: string): string {
  return /^'.*'$|^".*"$/s.test(text) ? text.slice(1, -1) : text;
}
