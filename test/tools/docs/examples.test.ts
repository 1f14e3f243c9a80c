/** Which blocks of a page are examples, and the modules that they become. @module */
import { expect, test } from "vitest";
import { examplesOf, moduleOf } from "../../../tools/docs/examples.ts";

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
    await import("hookbox/testing");
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
      code: `if (true) {\n  await import("hookbox/testing");\n}\n`,
    },
  ]);
});

test("examplesOf() refuses a mark that it does not know: a slip would switch an example off", () => {
  expect(() => examplesOf("a.md", "```ts runs\n1;\n```\n")).toThrow(
    'Cannot treat the example in a.md:2: its mark is "runs"',
  );
});

test("moduleOf() takes from the sources what users take from the package", () => {
  const [first, , third] = examplesOf("a.md", PAGE);
  const entries = { hookbox: "../sdk/mod.ts", "hookbox/testing": "../testing/mod.ts" };
  expect(first && moduleOf(first, entries)).toBe('import { a } from "../sdk/mod.ts";\n\nexport {};\n');
  expect(third && moduleOf(third, entries)).toContain('  await import("../testing/mod.ts");');
});
