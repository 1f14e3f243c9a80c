/** What the build refuses: code that would look for a file and not find it. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { missingFiles } from "../../../dev/package/missingfiles.ts";
import { makeTempFolder } from "../../tempfolder.ts";

/** Writes a folder as the compiler leaves it. */
function built(module: string): string {
  const folder = makeTempFolder();
  mkdirSync(join(folder, "room"));
  for (
    const [file, text] of Object.entries({ "room/a.js": module, "room/a.d.ts": "", "data.yaml": "", "room/b.py": "" })
  ) {
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

test("missingFiles() finds nothing where all that is named is there", () => {
  const module =
    `const a = new URL("b.py", import.meta.url);\nnew URL("../data.yaml", import.meta.url);\nnew URL("../", import.meta.url)`;
  expect(missingFiles(built(module))).toEqual([]);
});

test("missingFiles() names the module and the file, also where the call is broken into lines", () => {
  const module = `new URL("main.ts", import.meta.url);\nnew URL(\n  "../rbac.yaml",\n  import.meta.url,\n);`;
  expect(missingFiles(built(module))).toEqual(["room/a.js: main.ts", "room/a.js: ../rbac.yaml"]);
});
