/** package-lock.json has a checksum of every download, for every platform, from one registry. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Locked {
  version?: string;
  link?: boolean;
  resolved?: string;
  integrity?: string;
  optionalDependencies?: Record<string, string>;
}

const read = (file: string) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"));
const packages: Record<string, Locked> = read("package-lock.json").packages;
const downloaded = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);

test("each package that is downloaded has the hash of its content", () => {
  expect(downloaded.length).toBeGreaterThan(100);
  const unhashed = downloaded.filter(([, { integrity = "" }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity));
  expect(unhashed.map(([path]) => path)).toEqual([]);
});

test("each comes from the registry that is set, by name and version: no other place is named", () => {
  const elsewhere = Object.entries(packages).filter(([path, { link, resolved, version }]) =>
    link ? !(resolved ?? "").match(/^(hooks|dev|packages\/[a-z0-9-]+)$/) : resolved !== undefined ||
      (path.includes("node_modules/") && !/^\d+\.\d+\.\d+/.test(version ?? ""))
  );
  expect(elsewhere.map(([path]) => path)).toEqual([]);
});

/** As Node looks for a package: in the node_modules of each folder above. */
function isFoundFrom(path: string, name: string): boolean {
  const above = [...path.matchAll(/node_modules\//g)].map(({ index }) => path.slice(0, index));
  return [`${path}/`, ...above].some((folder) => Object.hasOwn(packages, `${folder}node_modules/${name}`));
}

test("what a package has for other platforms is there, too: an image for them copies it", () => {
  const missing = downloaded.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !isFoundFrom(path, name))
  );
  expect(missing).toEqual([]);
  const binaries = downloaded.filter(([path]) => path.startsWith("node_modules/@deno/"));
  expect(binaries.length).toBe(Object.keys(packages["node_modules/deno"]?.optionalDependencies ?? {}).length);
});
