/** Which blocks of a how-to are steps. @module */
import { expect, test } from "vitest";
import { stepsOf } from "../../../dev/docs/steps.ts";

test("stepsOf() lists files and commands in order, without what is for other clusters", () => {
  const page =
    "# A\n\n```yaml box.yaml\nkind: Box\n```\n\n- indented:\n\n  ```sh\n  kubectl apply -f box.yaml\n  ```\n\n" +
    "```sh elsewhere\ngcloud\n```\n\n```yaml elsewhere\nkind: Gone\n```\n\n```ts\n1;\n```\n";
  expect(stepsOf("a.md", page)).toEqual([
    { line: 4, file: "box.yaml", text: "kind: Box\n" },
    { line: 10, file: undefined, text: "kubectl apply -f box.yaml\n" },
  ]);
});

test.for([
  { name: "YAML without a name", page: "```yaml\nkind: Box\n```\n", mark: "" },
  { name: "commands with a mark that is not known", page: "```sh elsewere\nls\n```\n", mark: "elsewere" },
])("stepsOf() refuses $name", ({ page, mark }) => {
  expect(() => stepsOf("a.md", page)).toThrow(`Cannot take the step in a.md:2: its mark is "${mark}"`);
});
