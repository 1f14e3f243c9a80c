/** Comments taken apart, and what a public interface lacks. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseComment, parseModuleComment } from "../../../dev/docs/comment.ts";
import { complaints } from "../../../dev/docs/complaints.ts";
import { readParts } from "../../../dev/docs/reference.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const none = { text: "", params: [], throws: [], examples: [], isInternal: false };

test.for([
  { name: "an address is no tag", doc: "Ask a@param.org", want: { ...none, text: "Ask a@param.org" } },
  {
    name: "code is no tag",
    doc: "Says `@throws x`\n```ts\n@default\n```",
    want: { ...none, text: "Says `@throws x`\n```ts\n@default\n```" },
  },
  { name: "a default without braces", doc: "@default the `x` of y", want: { ...none, default: "the `x` of y" } },
])("parseComment(): $name", ({ doc, want }) => {
  expect(parseComment({ doc })).toEqual(want);
});

test("parseModuleComment() reads what a file opens with, one line or many", () => {
  expect(parseModuleComment("#!/usr/bin/env node\n/** A room. @module */\nexport {};").text).toBe("A room.");
  expect(parseModuleComment("/**\n * A room.\n *\n *  - x\n * @module\n */").text).toBe("A room.\n\n - x");
});

test("complaints() names exports and methods without a comment, and types that nobody can name", () => {
  const file = join(makeTempFolder(), "mod.ts");
  const source = `export class Door {
  open(): Hinge {
    return 1;
  }
  override toString = () => "";
  [Symbol.dispose]() {}
  width = 3;
  private hinge: Hinge = 1;
}
/** Said. */
export interface Lock {
  /** Said. */
  turn(): void;
  break(): void;
}
type Hinge = number;
/** @internal */
export const hidden = 1;
`;
  writeFileSync(file, source);
  const [part] = readParts([{ specifier: "door", file }]);
  expect(complaints([part?.symbols ?? []], () => "mod.ts")).toEqual([
    "mod.ts:1 Door: no comment",
    "mod.ts:1 Door.open(): no comment",
    "mod.ts:1 Door: its signature names Hinge, which is not exported",
    "mod.ts:11 Lock.break(): no comment",
  ]);
});
