/** Which blocks of a page are examples, and the modules that they become. @module */
import { expect, test } from "vitest";
import { commentsOf, examplesOf, exportsOf, moduleOf } from "../../../dev/docs/codeblocks.ts";

const PAGE = `# A page

\`\`\`ts
import { a } from "hookbox";
\`\`\`

\`\`\`ts run
const b = "from \\"hookbox\\"";
\`\`\`

- indented:

  \`\`\`ts cluster
  if (true) {
    await import("@hookbox/testing");
  }
  \`\`\`

\`\`\`ts ignore
neither
\`\`\`

\`\`\`typescript
declare: no;
\`\`\`
`;

test("examplesOf() lists blocks with their lines, without those that are to be left alone", () => {
  expect(examplesOf("a.md", PAGE)).toEqual([
    { file: "a.md", line: 4, treatment: "check", code: `import { a } from "hookbox";\n` },
    { file: "a.md", line: 8, treatment: "run", code: `const b = "from \\"hookbox\\"";\n` },
    {
      file: "a.md",
      line: 14,
      treatment: "cluster",
      code: `if (true) {\n  await import("@hookbox/testing");\n}\n`,
    },
  ]);
});

test("examplesOf() leaves it to others to run what names a file", () => {
  const [example] = examplesOf("a.md", "```ts a.test.ts\n1;\n```\n");
  expect(example).toMatchObject({ treatment: "check", code: "1;\n" });
});

test("examplesOf() refuses a mark that it does not know: a slip would switch an example off", () => {
  expect(() => examplesOf("a.md", "```ts runs\n1;\n```\n")).toThrow(
    'Cannot treat the example in a.md:2: its mark is "runs"',
  );
});

const entries = { hookbox: "../sdk/mod.ts", "@hookbox/testing": "../testing/mod.ts" };
const known = {
  exports: new Map([["a", "hookbox"], ["Sandbox", "hookbox"], ["createTestCluster", "@hookbox/testing"]]),
  values: { sandbox: "Sandbox" },
};

test("moduleOf() takes from the sources what users take from the package", () => {
  const [first, , third] = examplesOf("a.md", PAGE);
  expect(first && moduleOf(first, entries, known)).toBe('import { a } from "../sdk/mod.ts";\n\nexport {};\n');
  expect(third && moduleOf(third, entries, known)).toContain('  await import("../testing/mod.ts");');
});

test.for([
  {
    name: "what is exported is imported",
    code: "await createTestCluster();",
    want: 'import { createTestCluster } from "../testing/mod.ts";\n',
  },
  {
    name: "what other examples have made is declared",
    code: "await sandbox.kill();",
    want: 'import { Sandbox } from "../sdk/mod.ts"; declare const sandbox: Sandbox;\n',
  },
  { name: "what the code declares is left to it", code: "const sandbox = 1;\nconst { a } = {};", want: "" },
  { name: "a property is no name", code: "x.sandbox.a;", want: "" },
])("moduleOf() knows what a reader knows: $name", ({ code, want }) => {
  const example = { file: "a.md", line: 1, treatment: "check", code } as const;
  expect(moduleOf(example, entries, known)).toBe(`${want}${code}\nexport {};\n`);
});

test("commentsOf() leaves the comments where they stand", () => {
  const source = "/**\n * Says a.\n *\n * ```ts\n * a();\n * ```\n */\nexport const b = 2 * 3;\n";
  expect(commentsOf(source)).toBe("\nSays a.\n\n```ts\na();\n```\n\n\n");
});

test("exportsOf() lists what a module exports, from elsewhere, too", () => {
  const source = `export { a, type B, c as d } from "./x.ts";\nexport type { E } from "./y.ts";\nexport class F {}\n` +
    "export async function g() {}\nexport interface H {}\nconst i = 1;\n";
  expect(exportsOf(source)).toEqual(["a", "B", "d", "E", "F", "g", "H"]);
});
