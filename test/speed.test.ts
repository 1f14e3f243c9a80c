/** No test may depend on the speed of the machine or on a second try: tests do not retry, and every wait names its timeout. @module */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FILES = globSync(["test/**/*.ts", "vitest.config.ts"], { cwd: ROOT })
  .filter((file) => file !== "test/speed.test.ts")
  .map((file) => ({ file, text: readFileSync(`${ROOT}${file}`, "utf8") }));

/** The text of a call's parentheses, from where they open. */
function callAt(text: string, open: number): string {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")" && --depth === 0) return text.slice(open, at + 1);
  }
  return text.slice(open);
}

test("no test is tried again when it fails", () => {
  const option = /\bretry\s*:\s*(?:\d|\{)|--retry\b|\brepeats\s*:/;
  expect(FILES.filter(({ text }) => option.test(text)).map(({ file }) => file)).toEqual([]);
});

test("who waits for a condition says how long: a second, which is vitest's default, is too short", () => {
  const waiting = /(?:expect\.poll|vi\.waitFor|vi\.waitUntil)\(/g;
  const hasty = FILES.flatMap(({ file, text }) =>
    [...text.matchAll(waiting)]
      .filter((match) => !/timeout: ?(?:\d{2,3}_000|[A-Z_]+_MS)/.test(callAt(text, match.index + match[0].length - 1)))
      .map((match) => `${file}: ${match[0]}`)
  );
  expect(hasty).toEqual([]);
});

test("who waits for a list to grow waits for at least so many: at a slow moment two come between two looks", () => {
  // What is read from a cluster may be more for a moment, and less again: what is only ever added to may not.
  const exact = /\buntil\(\(\) => [^\n;,]*\.length === (?!0\b)[^\n;]*/g;
  const waits = FILES.flatMap(({ file, text }) => [...text.matchAll(exact)].map(([wait]) => `${file}: ${wait}`));
  expect(waits, "untilThere() of test/eventually.ts waits so").toEqual([]);
});
