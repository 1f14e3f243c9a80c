/** The site that is made of docs/: it builds without a warning, and every link leads somewhere. @module */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
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
  { href: "reference/README.md", from: "sdk.md", want: "reference/index.md" },
  { href: "README.md#rules", from: "decisions/0001.md", want: "index.md#rules" },
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

test("the first pages name the version", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const page of ["README.md", "docs/index.md"]) {
    expect(readFileSync(join(ROOT, page), "utf8"), page).toContain(`\nVersion ${version}`);
  }
});

test("links of what is read in the repository lead somewhere", async () => {
  expect(await deadLinks(ROOT, "*.md", "docs/**/*.md", "packages/{,integrations/}*/README.md")).toEqual([]);
});

test("the site builds without a warning, and its links lead somewhere", async () => {
  const folder = makeTempFolder();
  const vitepress = join(ROOT, "node_modules/.bin/vitepress");
  const args = [vitepress, "build", "docs", "--outDir", folder];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  expect(`${stdout}${stderr}`).not.toMatch(/warn|\(!\)|error/i);
  const files = ["index.html", "reference/index.html", "decisions/index.html", "examples/pool.yaml"];
  for (const file of files) expect(existsSync(join(folder, file)), file).toBe(true);
  // Addresses of before lead on.
  expect(readFileSync(join(folder, "reference/README.html"), "utf8")).toContain("url=/reference/");
  // A narrow screen shows each cell with the name of its column.
  expect(readFileSync(join(folder, "reference/flags.html"), "utf8")).toContain('<td data-label="default">');
  expect(await deadLinks(folder, "**/*.html")).toEqual([]);
});
