/** Packages that the SDK can do without: a bundler leaves out a package only if its import may fail. @module */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { peerDependenciesMeta, devDependencies } = JSON.parse(
  readFileSync(join(ROOT, "packages/sdk/package.json"), "utf8"),
) as Record<string, Record<string, { optional?: boolean }>>;
const optional = Object.keys(peerDependenciesMeta ?? {});
/** The packages that are part of its bundle. */
const folders = ["sdk", ...Object.keys(devDependencies ?? {}).filter((one) => one.startsWith("@hookbox/"))]
  .map((one) => one.replace("@hookbox/", ""));

test.for(optional)("%s is imported in a try alone", (name) => {
  const files = folders.flatMap((folder) => globSync(`packages/${folder}/**/*.ts`, { cwd: ROOT }))
    .filter((file) => !/node_modules|\/dist\//.test(file));
  const imports = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    return text.split(`import("${name}")`).slice(0, -1).map((before) => ({ file, before }));
  }).filter(({ before }) => !before.endsWith("typeof "));
  expect(imports.length).toBeGreaterThan(0);
  for (const { file, before } of imports) {
    expect([file, /\btry \{\s*return await $/.test(before)]).toEqual([file, true]);
  }
});
