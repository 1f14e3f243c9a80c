/** The catalogue of causes: its page says what the code says, and its sentences are sentences. @module */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CATALOGUE } from "../../../packages/api/diagnosis/catalogue.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const entries = Object.entries(CATALOGUE);

test("docs/why.md lists each code with its meaning, its remedy, and whether waiting helps, in the same order", () => {
  const [, codes = ""] = readFileSync(`${ROOT}docs/why.md`, "utf8").split("## Codes");
  const lines = codes.split("\n");
  const rows = lines.filter((line) => line.startsWith("| `")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
  expect(rows).toEqual(entries.map(([code, { meaning, remedy, hopeless }]) => [
    `\`${code}\``,
    meaning,
    remedy,
    hopeless ? "no" : "maybe",
  ]));
});

test("codes are PascalCase, meanings and remedies are sentences", () => {
  const bad = entries.filter(([code, { meaning, remedy }]) =>
    !/^[A-Z][A-Za-z]+$/.test(code) || ![meaning, remedy].every((text) => /^[A-Z].*\.$/.test(text))
  );
  expect(bad).toEqual([]);
});

test("each code is one that some rule gives", () => {
  const rules = globSync("packages/{api/diagnosis/{*,rules/*},cli/egress/*}.ts", { cwd: ROOT }).filter((file) =>
    !file.endsWith("codes.ts")
  );
  const text = rules.map((file) => readFileSync(`${ROOT}${file}`, "utf8")).join("\n");
  expect(entries.map(([code]) => code).filter((code) => !text.includes(`"${code}"`))).toEqual([]);
});
