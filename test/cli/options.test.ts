/** Files that a command line names, and addresses in it: what is said of those that are no good. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../tempfolder.ts";
import { run } from "./fakecontext.ts";

test.for([
  "pool simulate --rate 1 --refill 1s --trace",
  "token demo --secret-file",
  "convert -f",
])("%s: a file that cannot be read is code 1, in plain words", async (line) => {
  const folder = makeTempFolder();
  const file = join(folder, "file");
  writeFileSync(file, "");
  expect(await run([...line.split(" "), join(folder, "none")])).toEqual({
    code: 1,
    stdout: "",
    stderr: `Cannot read ${folder}/none: there is no such file\n`,
  });
  expect((await run([...line.split(" "), folder])).stderr).toBe(`Cannot read ${folder}: it is a folder\n`);
  expect((await run([...line.split(" "), join(file, "x")])).stderr).toBe(
    `Cannot read ${file}/x: there is no such file\n`,
  );
});

test.for(["install", "install --apply --image r/h:1", "manifests"])(
  "%s refuses hooks that are nowhere",
  async (line) => {
    expect(await run(`${line} --hooks-url foo`)).toEqual({
      code: 2,
      stdout: "",
      stderr: 'Cannot use hooks URL "foo": it is not an absolute http or https URL\n',
    });
  },
);
