/** What names a version, and whether all of it names the same. @module */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { mismatches, releaseVersion } from "../../dev/release/artefacts.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("all of this checkout is of one version", () => {
  expect(mismatches(ROOT, releaseVersion(ROOT), true)).toEqual([]);
});

test("what is of another version is named, each file once for each thing it says", () => {
  const wrong = mismatches(ROOT, "99.0.0", false);
  expect(wrong).toEqual(expect.arrayContaining([
    expect.stringMatching(/^packages\/sdk\/package\.json says \d/),
    expect.stringMatching(/^deploy\/chart\/Chart\.yaml says version \d/),
    expect.stringMatching(/^deploy\/chart\/Chart\.yaml says appVersion \d/),
    expect.stringMatching(/^deploy\/keeper\/keeper\.yaml runs the image of \d/),
    expect.stringMatching(/^deploy\/hooks\/sandbox\.yaml runs the image of \d/),
    "CHANGELOG.md has no section for it",
  ]));
  expect(new Set(wrong).size).toBe(wrong.length);
});
