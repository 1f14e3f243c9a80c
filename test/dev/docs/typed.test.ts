/** No commands of docs/ are left to rot unseen: a test types them, or dev/docs/typed.ts says why none does. @module */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fencesOf } from "../../../dev/docs/codeblocks.ts";
import { TYPED, UNTYPED } from "../../../dev/docs/typed.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const read = (file: string) => readFileSync(`${ROOT}${file}`, "utf8");
const pages = (pattern: string | string[]) => globSync(pattern, { cwd: ROOT }).sort();

/** Whatever a shell might be given; blocks that name no language, too. */
const SHELLS = ["", "sh", "bash", "shell", "zsh", "console", "shellsession"];
/** What the tests of typed pages know how to type. */
const KNOWN = ["sh", "console"];

const typed = new Set(pages(Object.keys(TYPED)));
const untyped = pages(["docs/*.md", "docs/howto/*.md"]).flatMap((page) =>
  fencesOf(read(page), ...SHELLS)
    .filter(({ language, mark }) => !typed.has(page) || !KNOWN.includes(language) || mark === "elsewhere")
    .map(({ line, text }) => ({ page, line, text }))
);

test("every block of commands is typed by a test, or listed with the reason", () => {
  const unlisted = untyped.filter(({ page, text }) =>
    !UNTYPED.some((one) => one.page === page && text.includes(one.has))
  );
  expect(unlisted).toEqual([]);
});

test.for([...UNTYPED])("what is listed is one block, and typed by nobody: $page, $has", ({ page, has }) => {
  expect(untyped.filter((block) => block.page === page && block.text.includes(has))).toHaveLength(1);
});

test.for(Object.entries(TYPED))("%s is typed by %s", ([page, file]) => {
  expect(pages(page).length).toBeGreaterThan(0);
  expect(read(file)).toContain(page);
});

test("what the reasons name is there", () => {
  const named = UNTYPED.flatMap(({ why }) => why.match(/test\/[\w/.-]*\w/g) ?? []);
  expect(named.filter((path) => pages(path).length === 0)).toEqual([]);
});
