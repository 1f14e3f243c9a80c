/** Which blocks of a page are steps, and what a change comes to. @module */
import { expect, test } from "vitest";
import { changed, stepsOf } from "../../../dev/docs/codeblocks.ts";

test("stepsOf() lists files, changes and commands in order, without what is for other clusters", () => {
  const page =
    "# A\n\n```yaml box.yaml\nkind: Box\n```\n\n- indented:\n\n  ```sh\n  kubectl apply -f box.yaml\n  ```\n\n" +
    "```sh elsewhere\ngcloud\n```\n\n```yaml elsewhere\nkind: Gone\n```\n\n```\nplain\n```\n\n```ts\n1;\n```\n\n" +
    "```diff a.ts\n-1;\n+2;\n```\n\n```sh helm,kubectl\nls\n```\n";
  expect(stepsOf("a.md", page, ["helm", "kubectl"])).toEqual([
    { line: 4, kind: "file", file: "box.yaml", text: "kind: Box\n", marks: [] },
    { line: 10, kind: "commands", file: undefined, text: "kubectl apply -f box.yaml\n", marks: [] },
    { line: 30, kind: "change", file: "a.ts", text: "-1;\n+2;\n", marks: [] },
    { line: 35, kind: "commands", file: undefined, text: "ls\n", marks: ["helm", "kubectl"] },
  ]);
});

test.for([
  { name: "YAML without a name", page: "```yaml\nkind: Box\n```\n", mark: "" },
  { name: "a change of nothing", page: "```diff\n+a\n```\n", mark: "" },
  { name: "commands with a mark that is not known", page: "```sh elsewere\nls\n```\n", mark: "elsewere" },
  { name: "commands with one that is known, and another", page: "```sh helm,elm\nls\n```\n", mark: "helm,elm" },
])("stepsOf() refuses $name", ({ page, mark }) => {
  expect(() => stepsOf("a.md", page, ["helm"])).toThrow(`Cannot take the step in a.md:2: its mark is "${mark}"`);
});

test("changed() puts some lines in place of others, where the lines around them are", () => {
  expect(changed("a {\n  b;\n}\nc {\n  b;\n}\n", " c {\n-  b;\n+  d;\n+  e;\n }\n")).toBe(
    "a {\n  b;\n}\nc {\n  d;\n  e;\n}\n",
  );
});

test.for([
  { name: "no place", change: "-  x;\n+  y;\n", places: 0 },
  { name: "two places", change: "-  b;\n+  y;\n", places: 2 },
])("changed() refuses a change with $name", ({ change, places }) => {
  expect(() => changed("  b;\n  b;\n", change)).toThrow(`Cannot make the change: there are ${places} places for it`);
});
