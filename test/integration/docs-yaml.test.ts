/** Whatever object a page shows can be applied as it stands. Blocks with a name are others' to run. @module */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { fencesOf } from "../../dev/docs/codeblocks.ts";
import { makeNamespace } from "./namespace.ts";
import { suite } from "./suite.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const objects = globSync(["README.md", "CONTRIBUTING.md", "docs/*.md", "packages/*/README.md"], { cwd: ROOT }).sort()
  .flatMap((page) =>
    fencesOf(readFileSync(`${ROOT}${page}`, "utf8"), "yaml").filter(({ mark }) => mark === undefined).flatMap((
      { text },
    ) =>
      parseAllDocuments(text).map((document) => document.toJS()).filter((object) => object?.apiVersion !== undefined)
        .map((object) => ({ page, kind: object.kind, object }))
    )
  );

test("pages show objects", () => {
  expect(objects.length).toBeGreaterThan(1);
});

test.for(objects)("the $kind of $page", async ({ object }) => {
  const ns = await makeNamespace(suite);
  await ns.apply(object);
  expect(await ns.get(object.kind.toLowerCase(), object.metadata.name)).toMatchObject({ kind: object.kind });
});
