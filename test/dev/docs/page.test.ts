/** A page of reference, whole: every shape that an export can have. @module */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { complaints } from "../../../dev/docs/complaints.ts";
import { renderPage } from "../../../dev/docs/page.ts";
import { formatted, readParts } from "../../../dev/docs/reference.ts";

const file = fileURLToPath(new URL("lamp.ts", import.meta.url));

test("renderPage() describes every shape of export", async () => {
  const page = formatted(renderPage("Lamps", "<!-- of a test -->", readParts([{ specifier: "lamp", file }])));
  await expect(page).toMatchFileSnapshot("golden/lamp.out.md");
});

test("complaints() finds nothing where all is described", () => {
  const [part] = readParts([{ specifier: "lamp", file }]);
  expect(complaints([part?.symbols ?? []], () => "lamp.ts")).toEqual([]);
});
