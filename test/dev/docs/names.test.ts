/** Names of what is installed, as pages and alerts have them: somebody types them. @module */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const read = (file: string) => readFileSync(ROOT + file, "utf8");
/** Of other projects. */
const OTHERS = ["agent-sandbox-controller"];

const manifests = globSync("deploy/{binder,e2b,egress,hooks,keeper,metacontroller,router,v1alpha1}/*.yaml", {
  cwd: ROOT,
})
  .flatMap((file) => parseAllDocuments(read(file)).map((document) => document.toJS()));
const deployments = manifests.filter((object) => object?.kind === "Deployment").map(({ metadata }) => metadata.name);
const pages = globSync(["README.md", "docs/**/*.md", "packages/*/README.md", "deploy/**/*.{yaml,txt}"], {
  cwd: ROOT,
  exclude: ["docs/reference/**"],
});

test("each Deployment that is named is one of deploy/", () => {
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/\bdeployment\/([a-z0-9-]+)/g)].map(([, name]) => `${page}: ${name}`)
  );
  expect(named.length).toBeGreaterThan(5);
  const known = [...deployments, ...OTHERS];
  expect(named.filter((line) => !known.includes(line.replace(/.*: /, "")))).toEqual([]);
});
