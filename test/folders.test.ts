/** The folder of a test file decides how it runs, so what it does must fit its folder. @module */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FILES = globSync("test/**/*.test.ts", { cwd: ROOT })
  .filter((file) => !file.endsWith("test/folders.test.ts"))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), "utf8") }));

test.for([
  { what: "mocks modules", sign: /vi\.mock\(/, folder: "/alone/" },
  { what: "measures memory", sign: /\/heap\.ts"/, folder: "/alone/" },
  { what: "has a long form", sign: /inject\("isSoak"\)/, folder: "/soak/" },
])("a file that $what is in a folder $folder", ({ sign, folder }) => {
  const found = FILES.filter(({ text }) => sign.test(text));
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter(({ file }) => !file.includes(folder)).map(({ file }) => file)).toEqual([]);
});

test("each file whose duration is recorded exists", () => {
  const durations = JSON.parse(readFileSync(join(ROOT, "test/durations.json"), "utf8"));
  const files = new Set(FILES.map(({ file }) => file));
  expect(Object.keys(durations).filter((file) => !files.has(file))).toEqual([]);
});
