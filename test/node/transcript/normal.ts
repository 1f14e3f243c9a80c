/** Takes out of what a command printed all that differs each time, and lines tables up again. Pure. @module */
import { renderTable } from "../../../packages/cli/output.ts";

/** What is replaced by what. */
export type Replacement = [RegExp | string, string];

/** Progress, which a log is shown of what takes longer than ten seconds: how long a step takes is no part of the page. */
const PROGRESS = /^(?:Creating a sandbox|Connecting to \S+|Copying \S+.*|Waiting for \S+.*)\n/gm;

/** Replacements for every run. */
const ALWAYS: Replacement[] = [
  [PROGRESS, ""],
  // Members of pools, with the names that the hooks give them.
  [/\bpython-[a-z0-9]+\b/g, "python-x7k2p"],
  [/\bsandbox-[a-z0-9]{8}\b/g, "sandbox-4x8m2q7d"],
  [/\bhas \d+Ki\b/g, "has 24684092Ki"],
  [/\b\d+ of \d+ Sandboxes\b/g, "2 of 2 Sandboxes"],
  [/\brenewed \w+ ago\b/g, "renewed 1s ago"],
  [/\b\d+\.\d+\.\d+\.\d+\b/g, "10.88.0.7"],
  [/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, "2026-11-21 12:00:00"],
  [/\bexpires in \w+/g, "expires in 10h"],
];
const HEADER = /^[A-Z][A-Z0-9()/ -]*$/;
/** What differs in cells of these columns. */
const CELLS: Record<string, string> = { AGE: "12s", "CPU(CORES)": "2m", MEMORY: "61Mi" };

/** Replaces it. */
export function normal(text: string, replacements: readonly Replacement[]): string {
  const replaced = [...replacements, ...ALWAYS].reduce((all, [from, to]) => all.replaceAll(from, to), text);
  const lines = replaced.split("\n");
  const out: string[] = [];
  while (lines.length > 0) {
    const [first = ""] = lines;
    if (!HEADER.test(first) || !first.includes("   ")) {
      out.push(first);
      lines.shift();
      continue;
    }
    const end = lines.findIndex((line) => line === "" || !/ {3}/.test(line));
    out.push(...aligned(lines.splice(0, end < 0 ? lines.length : end)));
  }
  return out.join("\n");
}

function aligned(lines: string[]): string[] {
  const [headers = [], ...rows] = lines.map((line) => line.split(/ {3,}/));
  const cells = rows.map((row) => row.map((cell, i) => CELLS[headers[i] ?? ""] ?? cell));
  return renderTable(headers, cells).trimEnd().split("\n");
}

const WIDTH = 120;

/** Fills paragraphs of Markdown to the width that our pages have, as the formatter does. */
export function filled(markdown: string): string {
  return markdown.trim().split(/\n{2,}/).map((paragraph) => {
    const lines = [""];
    for (const word of paragraph.split(/\s+/)) {
      const last = lines.at(-1) ?? "";
      if (last === "") lines[lines.length - 1] = word;
      else if (last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines.join("\n");
  }).join("\n\n");
}
