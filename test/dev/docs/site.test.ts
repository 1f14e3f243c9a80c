/** The site that is made of docs/: it builds without a warning, and every link leads somewhere. @module */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LinkChecker, LinkState } from "linkinator";
import { expect, test } from "vitest";
import { placeOf } from "../../../docs/.vitepress/config.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

test.for([
  { href: "install.md#flags", from: "concepts.md", want: "install.md#flags" },
  { href: "../security.md", from: "decisions/0001.md", want: "../security.md" },
  { href: "#a", from: "index.md", want: "#a" },
  { href: "https://example.dev/", from: "index.md", want: "https://example.dev/" },
  { href: "../examples/pool.yaml", from: "concepts.md", want: "/examples/pool.yaml" },
  { href: "../../examples/pool.yaml", from: "decisions/0001.md", want: "/examples/pool.yaml" },
  { href: "../deploy", from: "install.md", want: undefined },
  { href: "../CONTRIBUTING.md", from: "migration.md", want: undefined },
])("placeOf() finds $href of $from on the site: $want", ({ href, from, want }) => {
  expect(placeOf(href, from)).toBe(want);
});

/** Returns the links of files that lead nowhere. Those to other machines are not asked for. */
async function deadLinks(serverRoot: string, ...path: string[]): Promise<string[]> {
  const { links } = await new LinkChecker().check({
    serverRoot,
    path,
    markdown: true,
    cleanUrls: true,
    directoryListing: true,
    checkFragments: true,
    linksToSkip: [String.raw`^https?://(?!127\.|localhost)`],
  });
  expect(links.filter(({ state }) => state === LinkState.OK).length).toBeGreaterThan(30);
  return links.filter(({ state }) => state === LinkState.BROKEN).map(({ url, parent }) => `${url}, of ${parent}`);
}

test("links of what is read in the repository lead somewhere", async () => {
  expect(await deadLinks(ROOT, "*.md", "docs/**/*.md", "packages/*/README.md")).toEqual([]);
});

test("the site builds without a warning, and its links lead somewhere", async () => {
  const folder = makeTempFolder();
  const vitepress = join(ROOT, "node_modules/.bin/vitepress");
  const args = [vitepress, "build", "docs", "--outDir", folder];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  expect(`${stdout}${stderr}`).not.toMatch(/warn|\(!\)|error/i);
  for (const file of ["index.html", "reference/kubernetes.html", "examples/pool.yaml"]) {
    expect(existsSync(join(folder, file)), file).toBe(true);
  }
  expect(await deadLinks(folder, "**/*.html")).toEqual([]);
});
