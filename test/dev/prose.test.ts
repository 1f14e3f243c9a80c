/** The prose check: every phrase with its examples, and where in a file a phrase is found. @module */
import { expect, test } from "vitest";
import { findingsIn } from "../../dev/prose/check.ts";
import { PHRASES } from "../../dev/prose/phrases.ts";

/** Lists what is found in a file, as `line:column phrase`. */
const found = (file: string, ...lines: string[]) =>
  findingsIn(file, lines.join("\n")).map(({ line, column, found }) => `${line}:${column} ${found}`);

test.for(PHRASES.map((phrase) => [phrase.wrong, phrase] as const))("finds: %s", ([, { wrong, right, instead }]) => {
  expect(findingsIn("page.md", wrong)).toMatchObject([{ line: 1, instead }]);
  expect(findingsIn("page.md", right), right).toEqual([]);
});

test("a page is read outside of its code and its links' targets", () => {
  const page = [
    "# Title",
    "",
    "`whoever` and [a link](whoever.md)",
    "```sh",
    "echo whoever",
    "```",
    "",
    "Ask whoever is",
  ];
  expect(found("docs/page.md", ...page)).toEqual(["8:5 whoever"]);
});

test("a program is read in its comments, also over line breaks", () => {
  const program = [
    "/**",
    " * The pool is",
    " * told. `is told` is code.",
    " */",
    "const beside = 1; // next to it, or beside",
    "// The pool is",
    "// told.",
  ];
  expect(found("a.ts", ...program)).toEqual(["5:37 beside", "2:13 is told", "6:13 is told"]);
});

test("a program is read in its messages and titles, but not in its names", () => {
  const program = [
    'import { beside } from "./whoever.ts";',
    "throw new Error(`Cannot start ${beside}: it is told to wait`);",
    'const text = "The pool " + "is " +',
    '  "told";',
    'test("stays beside it", () => beside("beside", "../beside"));',
    "const pattern = /is told/;",
  ];
  expect(found("a.ts", ...program)).toEqual(["5:13 beside", "2:45 is told", "3:29 is told"]);
});

test("JSX is read in its texts", () => {
  expect(found("a.tsx", "const page = <p class={beside}>", "  Ask whoever is there", "</p>;")).toEqual(["2:7 whoever"]);
});

test.for(["a.yaml", "a.sh", "Containerfile", "a.py"])("%s is read as a whole", (file) => {
  expect(found(file, "first: 1", "# Waits for whoever comes.", "next: whoever")).toEqual([
    "2:13 whoever",
    "3:7 whoever",
  ]);
});
